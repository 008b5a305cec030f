"""SES API v2 in terms of v1, which is all that the free edition has: identities, and mails as raw messages."""

import base64
import json

from botocore.exceptions import ClientError
from localstack.aws.connect import connect_to
from localstack.http import Request, Response, route
from localstack.services.edge import ROUTER

REGION = "us-east-1"


def install():
    ROUTER.add(SesV2())


class SesV2:
    """The operations of https://docs.aws.amazon.com/ses/latest/APIReference-V2/ that the stack uses."""

    @route("/v2/email/identities", methods=["POST"])
    def create_email_identity(self, request: Request):
        identity = json.loads(request.data)["EmailIdentity"]
        client = connect_to(region_name=REGION).ses
        if "@" in identity:
            client.verify_email_identity(EmailAddress=identity)
        else:
            client.verify_domain_identity(Domain=identity)
        kind = "EMAIL_ADDRESS" if "@" in identity else "DOMAIN"
        return answer(200, {"IdentityType": kind, "VerifiedForSendingStatus": True})

    @route("/v2/email/outbound-emails", methods=["POST"])
    def send_email(self, request: Request):
        wanted = json.loads(request.data)
        raw = wanted.get("Content", {}).get("Raw")
        if raw is None:
            return refusal(400, "BadRequestException", "this translation to SES v1 takes Content.Raw alone; send the mail as a raw message")
        destination = wanted.get("Destination", {})
        given = {
            "Source": wanted.get("FromEmailAddress"),
            "SourceArn": wanted.get("FromEmailAddressIdentityArn"),
            "Destinations": [address for kind in ("To", "Cc", "Bcc") for address in destination.get(f"{kind}Addresses", [])],
            "RawMessage": {"Data": base64.b64decode(raw["Data"])},
            "Tags": wanted.get("EmailTags"),
            "ConfigurationSetName": wanted.get("ConfigurationSetName"),
        }
        try:
            sent = connect_to(region_name=REGION).ses.send_raw_email(**{name: value for name, value in given.items() if value})
        except ClientError as error:
            told = error.response
            status = told.get("ResponseMetadata", {}).get("HTTPStatusCode", 400)
            return refusal(status, told["Error"]["Code"], told["Error"].get("Message", ""))
        return answer(200, {"MessageId": sent["MessageId"]})


def answer(status, body, headers=()):
    return Response(json.dumps(body), status=status, headers=dict(headers), mimetype="application/json")


def refusal(status, code, message):
    return answer(status, {"message": message}, {"x-amzn-ErrorType": code})
