"""Prints a SAM template as CloudFormation would see it.

    python synthesize.py infra/template.yaml < sets.json

Standard input is a JSON list of parameter sets, each an object of strings; what a set leaves out has its default. Standard output
is one JSON object: `parameters` and `mappings` as the template declares them, the names of its `outputs`, and in `stacks` one stack a set, after the SAM
transform and with parameters, mappings, conditions and string functions put in. References from one resource to another stay.
In place of a set that CloudFormation would refuse stands {"refused": "why"}.
"""

import copy
import json
import os
import re
import sys

# The translator asks boto3 for the partition of this region; nothing is called.
os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")

from samtranslator.translator.transform import transform  # noqa: E402
from samtranslator.yaml_helper import yaml_parse  # noqa: E402

PSEUDO = {
    "AWS::AccountId": "123456789012",
    "AWS::Partition": "aws",
    "AWS::Region": "us-east-1",
    "AWS::StackName": "ikkai",
    "AWS::URLSuffix": "amazonaws.com",
}
# What stands where AWS::NoValue was: removed from the object or list around it.
NOTHING = object()


class Refused(Exception):
    """CloudFormation would not take this."""


class NoManagedPolicies:
    """The template names no managed policies, so nothing has to be looked up."""

    def load(self):
        return {}


def parameters_of(template, given):
    declared = template.get("Parameters", {})
    unknown = sorted(set(given) - set(declared))
    if unknown:
        raise Refused(f"unknown parameters: {', '.join(unknown)}")
    values = {}
    for name, rule in declared.items():
        value = given.get(name, rule.get("Default"))
        if value is None:
            raise Refused(f"parameter {name} has no default and was not given")
        check(name, rule, str(value))
        values[name] = str(value)
    return values


def check(name, rule, value):
    allowed = [str(one) for one in rule.get("AllowedValues", [])]
    if allowed and value not in allowed:
        raise Refused(f"{name}: {value!r} is not one of {', '.join(allowed)}")
    if "AllowedPattern" in rule and not re.fullmatch(rule["AllowedPattern"], value):
        raise Refused(f"{name}: {value!r} does not match {rule['AllowedPattern']}")
    if rule["Type"] == "Number":
        measure, low, high = float(value), rule.get("MinValue"), rule.get("MaxValue")
    else:
        measure, low, high = len(value), rule.get("MinLength"), rule.get("MaxLength")
    if low is not None and measure < low or high is not None and measure > high:
        raise Refused(f"{name}: {value!r} is outside of {low}..{high}")


def check_rules(template, parameters):
    """The section Rules: assertions over parameters, with functions of its own."""

    def truth(body):
        (function, argument), = body.items()
        if function == "Fn::And":
            return all(truth(one) for one in argument)
        if function == "Fn::Or":
            return any(truth(one) for one in argument)
        if function == "Fn::Not":
            return not truth(argument[0])
        if function == "Fn::Contains":
            return parameters[argument[1]["Ref"]] in argument[0]
        if function == "Fn::Equals":
            return parameters[argument[0]["Ref"]] == argument[1]
        raise ValueError(f"rule function {function} is not known here")

    for name, rule in template.get("Rules", {}).items():
        if "RuleCondition" in rule and not truth(rule["RuleCondition"]):
            continue
        for assertion in rule["Assertions"]:
            if not truth(assertion["Assert"]):
                raise Refused(f"{name}: {assertion['AssertDescription']}")


class Stack:
    """Puts the values of one set into one template."""

    def __init__(self, template, parameters):
        self.template = template
        self.values = {**PSEUDO, **parameters}

    def resolved(self):
        stack = {}
        for section in ("Resources", "Outputs"):
            kept = {}
            for name, body in self.template.get(section, {}).items():
                if "Condition" in body and not self.condition(body["Condition"]):
                    continue
                kept[name] = self.put_in({key: value for key, value in body.items() if key != "Condition"})
            stack[section] = kept
        return stack

    def condition(self, name):
        return self.truth(self.template["Conditions"][name])

    def truth(self, body):
        (function, argument), = body.items()
        if function == "Condition":
            return self.condition(argument)
        if function == "Fn::Equals":
            left, right = (self.put_in(side) for side in argument)
            return str(left) == str(right)
        if function == "Fn::Not":
            return not self.truth(argument[0])
        if function == "Fn::And":
            return all(self.truth(one) for one in argument)
        if function == "Fn::Or":
            return any(self.truth(one) for one in argument)
        raise ValueError(f"condition function {function} is not known here")

    def put_in(self, node):
        if isinstance(node, list):
            return [value for value in map(self.put_in, node) if value is not NOTHING]
        if not isinstance(node, dict):
            return node
        if len(node) == 1:
            (function, argument), = node.items()
            handler = self.FUNCTIONS.get(function)
            if handler:
                return handler(self, argument)
        put = {key: self.put_in(value) for key, value in node.items()}
        return {key: value for key, value in put.items() if value is not NOTHING}

    def ref(self, name):
        if name == "AWS::NoValue":
            return NOTHING
        return self.values.get(name, {"Ref": name})

    def find_in_map(self, argument):
        mapping, top, second = (self.put_in(part) for part in argument)
        try:
            return self.template["Mappings"][mapping][str(top)][second]
        except KeyError:
            raise ValueError(f"mapping {mapping} has no {top}/{second}") from None

    def if_(self, argument):
        condition, then, otherwise = argument
        return self.put_in(then if self.condition(condition) else otherwise)

    def join(self, argument):
        glue, parts = argument[0], self.put_in(argument[1])
        if all(isinstance(part, str) for part in parts):
            return glue.join(parts)
        return {"Fn::Join": [glue, parts]}

    def split(self, argument):
        glue, text = argument[0], self.put_in(argument[1])
        return text.split(glue) if isinstance(text, str) else {"Fn::Split": [glue, text]}

    def select(self, argument):
        index, parts = argument[0], self.put_in(argument[1])
        return parts[int(index)] if isinstance(parts, list) else {"Fn::Select": [index, parts]}

    def sub(self, argument):
        text, local = (argument, {}) if isinstance(argument, str) else argument
        local = {name: self.put_in(value) for name, value in local.items()}
        open_names = {}

        def replace(match):
            name = match.group(1)
            value = local.get(name, self.values.get(name))
            if isinstance(value, str):
                return value
            open_names[name] = value
            return match.group(0)

        text = re.sub(r"\$\{([A-Za-z0-9:.]+)\}", replace, text)
        if not open_names:
            return text
        rest = {name: value for name, value in open_names.items() if value is not None}
        return {"Fn::Sub": [text, rest] if rest else text}

    FUNCTIONS = {
        "Ref": ref,
        "Fn::FindInMap": find_in_map,
        "Fn::If": if_,
        "Fn::Join": join,
        "Fn::Split": split,
        "Fn::Select": select,
        "Fn::Sub": sub,
    }


def synthesize(template, native, given):
    try:
        parameters = parameters_of(template, given)
        check_rules(template, parameters)
    except Refused as refusal:
        return {"refused": str(refusal)}
    return Stack(native, parameters).resolved()


def packaged(template):
    """The template as it is deployed: in place of each folder of code stands where it was uploaded to."""
    for body in template.get("Resources", {}).values():
        properties = body.get("Properties", {})
        folder = properties.get("CodeUri")
        if isinstance(folder, str):
            properties["CodeUri"] = {"Bucket": "code", "Key": f"{folder.rstrip('/').rpartition('/')[2]}.zip"}
    return template


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        template = packaged(yaml_parse(file.read()))
    sets = json.load(sys.stdin)
    # Once for all sets: without values the transform leaves references to parameters as they are.
    native = transform(copy.deepcopy(template), {}, NoManagedPolicies())
    stacks = [synthesize(template, native, given) for given in sets]
    out = {
        "parameters": template.get("Parameters", {}),
        "mappings": template.get("Mappings", {}),
        "outputs": list(template.get("Outputs", {})),
        "stacks": stacks,
    }
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
