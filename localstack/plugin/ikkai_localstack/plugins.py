"""Where LocalStack finds this package: the entry points of `ikkai_localstack-1.dist-info` name what is here.

Nothing is imported before LocalStack asks for it: it loads plugins before its own modules are ready.
"""

from localstack.runtime import hooks
from localstack.services.lambda_.invocation.plugins import RuntimeExecutorPlugin


# LocalStack loads a service when it is first asked for, which can take longer than who asks has patience. It is not ready before these are.
LOADED_FIRST = ("cloudformation", "s3", "secretsmanager", "ses")


class NativeExecutorPlugin(RuntimeExecutorPlugin):
    """`LAMBDA_RUNTIME_EXECUTOR=native`"""

    name = "native"

    def load(self, *args, **kwargs):
        from ikkai_localstack.executor import NativeExecutor

        return NativeExecutor


@hooks.on_infra_start()
def adapt():
    """Everything beside functions that is otherwise than LocalStack brings it."""
    from localstack.services.plugins import SERVICE_PLUGINS

    from ikkai_localstack import cloudformation, dynamodb, mail, mapping, views

    cloudformation.install()
    dynamodb.install()
    mail.install()
    mapping.install()
    views.install()
    for service in LOADED_FIRST:
        SERVICE_PLUGINS.require(service)
