"""A parameter of type `Number` may be the key of a mapping, whose keys are text.

LocalStack makes a number of it, and finds no such key.
"""

from localstack.services.cloudformation.engine.v2.change_set_model_preproc import ChangeSetModelPreproc


def install():
    resolve = ChangeSetModelPreproc._resolve_mapping

    def resolve_by_text(self, map_name, top_level_key, second_level_key):
        return resolve(self, map_name, str(top_level_key), second_level_key)

    ChangeSetModelPreproc._resolve_mapping = resolve_by_text
