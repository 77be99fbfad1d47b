"""An inventory to begin with, as `tianmesh lab init` writes it."""

from __future__ import annotations

from typing import Final

EXAMPLE: Final = """\
# The machines of a lab. `tianmesh lab launch {file}` brings a peer onto each of them, by ssh.
name = "campus"                  # of the mesh
contact = ""                     # e-mail or URL for webmasters; without it no public host is visited

# What pip installs there: the folder of the project, of which a wheel is built here and sent along; a wheel
# file; or a URL that ends in #sha256= and its checksum. Paths are relative to this file.
install = "."
# command = "/opt/tianmesh/bin/tianmesh"   # where it is installed already; then `install` is not needed

# allow_private = ["intranet.example.org", "10.1.0.0/16"]   # what of an intranet may be crawled
# replicas = 2                   # copies of every page, in a new mesh
# relays = 4                     # machines that can only dial out, which the first one relays
# ssh_options = ["-i", "lab.key"]   # words for every ssh

[defaults]                       # for machines that do not say otherwise
# user = "li"                    # who logs in and runs the peer; as ssh is configured
folder = "tianmesh"              # in the home folder, or /srv/tianmesh
gateway = "127.0.0.1:8017"       # where people ask; "0.0.0.0:8017" answers the whole network
# python = "python3.12"          # 3.11 or later

[[machines]]
address = "10.0.0.1"             # by which all other machines reach it

[[machines]]
name = "mill"
address = "10.0.0.2"
# ssh = "mill.example.org"       # where ssh finds it, if not at its address
# port = 2222                    # of sshd
# weight = 50                    # half the share of the others; 0 answers queries only
# url = "https://mill.example.org"   # where people reach its gateway, behind a proxy with TLS
# group = "rack-2"               # a name for several: `tianmesh lab stop rack-2`
"""
