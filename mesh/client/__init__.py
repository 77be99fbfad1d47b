"""Client: commands and labs speak to a gateway of the mesh. [io]

`gateway_client` asks over HTTP or HTTPS; `admin_token` makes the token that a gateway wants of an
administrator.
"""
