"""Keeps LocalStack's server on 127.0.0.1.

Of `GATEWAY_LISTEN` LocalStack 4.14 takes the port alone, and listens on every interface: whoever is on the same network could call it.
"""

from functools import partial

from twisted.internet import endpoints


def install():
    endpoints.TCP4ServerEndpoint = partial(endpoints.TCP4ServerEndpoint, interface="127.0.0.1")
