"""Event source mappings of SQS, as Lambda's.

LocalStack's works on one batch at a time, asks an idle queue less and less often, and writes JSON bodies anew. On AWS a mapping has as many
batches under way as its `MaximumConcurrency` allows, waits at the queue, and hands a body on as it is
(https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html).
"""

import logging
from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore

from localstack.aws.api.sqs import MessageSystemAttributeName
from localstack.services.lambda_.event_source_mapping import esm_worker, esm_worker_factory
from localstack.services.lambda_.event_source_mapping.event_processor import PartialBatchFailureError
from localstack.services.lambda_.event_source_mapping.pollers.poller import parse_batch_item_failures
from localstack.services.lambda_.event_source_mapping.pollers.sqs_poller import SqsPoller, transform_into_events

LOG = logging.getLogger(__name__)

# Messages of one request to SQS (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html).
MOST_AT_ONCE = 10

# How long a request waits for messages. As long may a mapping that was switched off still take some, as on AWS.
WAIT_SECONDS = 5

# A mapping starts with so many batches at once, and stays at them on a small machine.
MOST_BATCHES = 5


def install():
    # The pause after each request: ours wait at the queue.
    esm_worker.LAMBDA_EVENT_SOURCE_MAPPING_POLL_INTERVAL_SEC = 0
    factory = esm_worker_factory.EsmWorkerFactory
    original = factory.get_esm_worker

    def get_esm_worker(self):
        worker = original(self)
        if type(worker.poller) is SqsPoller:
            maximum = self.esm_config.get("ScalingConfig", {}).get("MaximumConcurrency", MOST_BATCHES)
            worker.poller = ConcurrentPoller(worker.poller, min(maximum, MOST_BATCHES))
        return worker

    factory.get_esm_worker = get_esm_worker


class ConcurrentPoller:
    """Takes batches from a queue and has several of them worked on at once."""

    def __init__(self, poller, batches):
        self._poller = poller
        self._free = BoundedSemaphore(1 if poller.is_fifo_queue else batches)
        self._workers = ThreadPoolExecutor(batches, thread_name_prefix="sqs-batch")

    def __getattr__(self, name):
        return getattr(self._poller, name)

    def poll_events(self):
        """One request to SQS. The worker around it calls this in a loop."""
        self._free.acquire()
        try:
            messages = self._receive()
        except BaseException:
            self._free.release()
            raise
        if not messages:
            self._free.release()
            return
        self._workers.submit(self._work_on, messages)

    def close(self):
        self._workers.shutdown(wait=False)
        self._poller.close()

    def _receive(self):
        answer = self._poller.source_client.receive_message(
            QueueUrl=self._poller.queue_url,
            MaxNumberOfMessages=min(self._poller.batch_size, MOST_AT_ONCE),
            WaitTimeSeconds=WAIT_SECONDS,
            MessageAttributeNames=["All"],
            MessageSystemAttributeNames=[MessageSystemAttributeName.All],
        )
        return answer.get("Messages", [])

    def _work_on(self, messages):
        try:
            self._invoke(messages)
        except Exception as problem:
            # All of them come back when their visibility timeout ends.
            LOG.info("a batch of %s failed: %s", self._poller.source_arn, problem)
        finally:
            self._free.release()

    def _invoke(self, messages):
        events = self._poller.add_source_metadata(transform_into_events(messages))
        ids = {message["MessageId"] for message in messages}
        failed = set()
        try:
            self._poller.processor.process_events_batch(events)
        except PartialBatchFailureError as problem:
            failed = set(parse_batch_item_failures(problem.partial_failure_payload, ids))
        self._poller.delete_messages(messages, ids - failed)
