"""What tests and the command line look at, without receiving, changing or counting anything: the mailbox and the queues.

LocalStack shows mails as they were sent, and one queue at a time.
"""

import datetime
import email
import email.policy
import json

from localstack.http import Request, Response, route
from localstack.services.edge import ROUTER
from localstack.services.ses.provider import EMAILS
from localstack.services.sqs.developer_api import SqsDeveloperApi
from localstack.services.sqs.models import sqs_stores


def install():
    ROUTER.add(Views())


class Views:
    @route("/_ikkai/mails", methods=["GET"])
    def mails(self, request: Request):
        """Every mail that SES has taken, oldest first."""
        return answer([described(mail) for mail in list(EMAILS.values())])

    @route("/_ikkai/queues", methods=["GET"])
    def queues(self, request: Request):
        """The messages of every queue, or of the one that `name` names, by the queue's name."""
        wanted = request.args.get("name")
        reader = SqsDeveloperApi()
        found = {}
        for _account, _region, store in sqs_stores.iter_stores():
            for name, queue in list(store.queues.items()):
                if wanted in (None, name):
                    found[name] = [shown(message) for message in reader._collect_messages(queue, True, True)]
        return answer(found)


def described(mail):
    parsed = email.message_from_string(mail.get("RawData") or "", policy=email.policy.default)
    text, html = parsed.get_body(("plain",)), parsed.get_body(("html",))
    return {
        "MessageId": mail["Id"],
        "Timestamp": seconds(mail.get("Timestamp")),
        "Source": mail["Source"],
        "To": [str(address) for address in parsed.get_all("To", [])],
        "Subject": parsed["Subject"],
        "BodyText": text.get_content() if text else None,
        "BodyHtml": html.get_content() if html else None,
    }


def seconds(timestamp):
    """A time of LocalStack's mailbox, which is UTC and does not say so, in seconds since 1970."""
    if not timestamp:
        return None
    time = datetime.datetime.fromisoformat(timestamp)
    return (time if time.tzinfo else time.replace(tzinfo=datetime.UTC)).timestamp()


def shown(message):
    attributes = message["Attributes"]
    visible = attributes.pop("IsVisible") == "true" and attributes.pop("IsDelayed") == "false"
    attributes.pop("IsDelayed", None)
    return {
        "MessageId": message["MessageId"],
        "Body": message["Body"],
        "IsVisible": visible,
        "ReceiveCount": int(attributes["ApproximateReceiveCount"]),
        "Attributes": attributes,
    }


def answer(body):
    return Response(json.dumps(body), mimetype="application/json")
