// A runtime client: asks for an event, runs the handler, answers. AWS's own (aws-lambda-ric) compiles C++ when it is installed, which needs more
// tools than a benchmark should ask for; its work between two events is this.
//
// https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html

import { Agent, request } from 'node:http';

const [host, port] = process.env.AWS_LAMBDA_RUNTIME_API.split(':');
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

function call(method, path, body) {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const sent = request({ host, port, agent, method, path: `/2018-06-01/runtime/${path}`, headers }, (answer) => {
      const chunks = [];
      answer.on('data', (chunk) => chunks.push(chunk));
      answer.on('end', () => resolve({ headers: answer.headers, body: Buffer.concat(chunks).toString() }));
      answer.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const { handler } = await import(process.env.CONTENDER_HANDLER);

for (;;) {
  const next = await call('GET', 'invocation/next');
  const id = next.headers['lambda-runtime-aws-request-id'];
  const deadline = Number(next.headers['lambda-runtime-deadline-ms']);
  const context = { awsRequestId: id, functionName: process.env.AWS_LAMBDA_FUNCTION_NAME, getRemainingTimeInMillis: () => deadline - Date.now() };
  try {
    await call('POST', `invocation/${id}/response`, JSON.stringify(await handler(JSON.parse(next.body), context)));
  } catch (error) {
    await call('POST', `invocation/${id}/error`, JSON.stringify({ errorType: error.name, errorMessage: error.message }));
  }
}
