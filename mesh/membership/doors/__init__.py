"""Ways into the mesh: the doors that are known, the times to knock, and the relay of this peer."""
