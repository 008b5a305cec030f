"""Runs localstripe for as long as the process that started it lives, with what it lacks.

Standard input is a pipe that its starter never writes to. It closes when the starter ends, however it ends.

localstripe keeps customers, cards and payments. Added here, as Stripe documents them: idempotency keys, lists of a customer's
payments, newest first; and under /_ikkai what tests ask for: keys that are forgotten, answers that get lost. Nothing is written to disk, and
only 127.0.0.1 is listened on.
"""

import os
import sys
import threading


def end_with_starter():
    while os.read(0, 4096):
        pass
    os._exit(0)


threading.Thread(target=end_with_starter, daemon=True).start()

from aiohttp import web  # noqa: E402  (the guard comes first)
from localstripe import resources, server  # noqa: E402
from localstripe.errors import UserError  # noqa: E402

remembered = {}
answers_to_lose = 0


@web.middleware
async def keep_keys(request, handler):
    """The same key brings the same answer (https://docs.stripe.com/api/idempotent_requests)."""
    key = request.headers.get("Idempotency-Key")
    if request.method != "POST" or not key:
        return await handler(request)
    asked = (request.path, await request.read())
    if key in remembered:
        known, status, body = remembered[key]
        if known != asked:
            error = {"type": "idempotency_error", "message": "Keys can only be used with the parameters they were first used with."}
            return web.json_response({"error": error}, status=400)
        return web.Response(status=status, body=body, content_type="application/json", headers={"Idempotent-Replayed": "true"})
    try:
        answer = await handler(request)
    except UserError as error:
        answer = error.to_response()
    # What fails validation is not remembered.
    if answer.status != 400:
        remembered[key] = (asked, answer.status, answer.body)
    return answer


@web.middleware
async def lose_answers(request, handler):
    """The request is carried out, and the connection breaks before its answer."""
    global answers_to_lose
    answer = await handler(request)
    if request.path == "/v1/payment_intents" and request.method == "POST" and answers_to_lose > 0:
        answers_to_lose -= 1
        request.transport.abort()
    return answer


def list_payments(cls, url, customer=None, limit=None, starting_after=None):
    page = resources.List(url, limit=limit, starting_after=starting_after)
    payments = [payment for name, payment in resources.store.items() if name.startswith("payment_intent:")]
    page._list = [payment for payment in reversed(payments) if customer in (None, payment.customer)]
    return page


@web.middleware
async def take_orders(request, handler):
    """What tests ask for. Comes before localstripe asks for an API key."""
    global answers_to_lose
    if request.path == "/_ikkai/ready":
        return web.Response()
    if request.path == "/_ikkai/forget-keys":
        remembered.clear()
        return web.Response()
    if request.path.startswith("/_ikkai/lose-answers/"):
        answers_to_lose = int(request.path.rpartition("/")[2])
        return web.Response()
    return await handler(request)


resources.Store.dump_to_disk = lambda store: None
resources.PaymentIntent._api_list_all = classmethod(list_payments)
server.app.middlewares.insert(0, take_orders)
server.app.middlewares.extend([lose_answers, keep_keys])

web.run_app(server.app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
