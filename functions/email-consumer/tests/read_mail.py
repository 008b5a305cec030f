"""Reads MIME messages as an independent mail reader would: a JSON list of messages in, a JSON list of what they say out."""

import email.policy
import json
import sys
from email.header import decode_header, make_header
from email.parser import BytesParser
from email.utils import parseaddr


def mailbox(header, raw):
    """The modern parser's reading, and the name as the older one decodes it.

    Many versions of the modern one put a space between the encoded words of a long name, against RFC 2047, 6.2
    (https://github.com/python/cpython/issues/128110); the older one joins them as it should.
    """
    (address,) = header.addresses
    name, _ = parseaddr("".join(raw.splitlines()))
    return {
        "name": address.display_name,
        "joined": str(make_header(decode_header(name))),
        "address": address.addr_spec,
    }


def body(message, subtype):
    part = message.get_body((subtype,))
    return part.get_content().replace("\r\n", "\n")


def read(raw):
    message = BytesParser(policy=email.policy.default).parsebytes(raw.encode("ascii"))
    fields = BytesParser(policy=email.policy.compat32).parsebytes(raw.encode("ascii"))
    return {
        "headers": message.keys(),
        "from": mailbox(message["From"], fields["From"]),
        "to": mailbox(message["To"], fields["To"]),
        "subject": message["Subject"],
        "text": body(message, "plain"),
        "html": body(message, "html"),
        "parts": [part.get_content_type() for part in message.walk()],
        "defects": [repr(defect) for part in message.walk() for defect in part.defects],
    }


json.dump([read(raw) for raw in json.load(sys.stdin)], sys.stdout)
