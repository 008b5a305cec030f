"""Decides requests by IAM policies, with the local engine's evaluator.

Standard input is a JSON list of {policies, action, resource, context}; standard output is the list of decisions: "Allow", "Deny" or
"ImplicitDeny". The keys of `context` are condition keys in lower case.
"""

import json
import sys

from ministack.core.iam_evaluator import EvalContext, evaluate, parse_policy_document


def decide(request):
    context = EvalContext(
        principal_arn="arn:aws:sts::123456789012:assumed-role/role/function",
        principal_type="AssumedRole",
        principal_account="123456789012",
        action=request["action"],
        resource_arn=request["resource"],
        region="us-east-1",
        source_ip="192.0.2.1",
        secure_transport=True,
        service_context=request["context"],
    )
    return evaluate(context, [parse_policy_document(policy) for policy in request["policies"]]).decision


json.dump([decide(request) for request in json.load(sys.stdin)], sys.stdout)
