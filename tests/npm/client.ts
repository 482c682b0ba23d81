// A small program over types that were generated from /openapi.json: it must
// compile strictly, and then do its work. Prints what it did as JSON.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

type Envelope = components["schemas"]["Envelope"];
type Event = components["schemas"]["Event"];

const [base, key, receiver] = process.argv.slice(2) as [string, string, string];
const api = createClient<paths>({ baseUrl: base, headers: { Authorization: `Bearer ${key}` } });

function must<T>(answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

function event(n: number): Envelope {
  return {
    schemaVersion: 1,
    eventType: "client.made",
    tenantId: "11111111-1111-4111-8111-111111111111",
    producer: { service: "client", instanceId: "ts" },
    sequence: { partitionKey: `k${n % 3}` },
    payload: { n },
  };
}

async function publish(count: number): Promise<number> {
  const one = must(await api.POST("/v1/events", {
    params: { header: { "Idempotency-Key": "ts-1" } },
    body: event(0),
  }));
  if (!("seq" in one)) throw new Error("one event is answered by its seq");
  const rest = must(await api.POST("/v1/events", {
    body: Array.from({ length: count - 1 }, (_, i) => event(i + 1)),
  }));
  if (!("results" in rest)) throw new Error("many are answered one by one");
  return 1 + rest.results.filter((r) => r.status === 202).length;
}

async function page(): Promise<Event[]> {
  const all: Event[] = [];
  for (let after: string | undefined; ;) {
    const got = must(await api.GET("/v1/events", {
      params: { query: { limit: 7, type: "client.made", ...(after ? { after } : {}) } },
    }));
    all.push(...got.data);
    if (got.next === null) return all;
    after = got.next;
  }
}

async function work(name: string): Promise<number> {
  let done = 0;
  for (;;) {
    const got = must(await api.GET("/v1/consumers/{name}/events", {
      params: { path: { name }, query: { max: 10 } },
    }));
    if (got.data.length === 0) return done;
    const told = must(await api.POST("/v1/consumers/{name}/ack", {
      params: { path: { name } },
      body: { cursors: got.data.map((e) => e.cursor) },
    }));
    done += told.results.filter((r) => r.status === "acked").length;
  }
}

async function refused(): Promise<string> {
  const { error, response } = await api.POST("/v1/subscriptions", { body: { name: "s", url: "no URL" } });
  if (!error || response.status !== 422) throw new Error("it is no URL");
  return error.error.pointer ?? "";
}

const name = "ts";
must(await api.PUT("/v1/consumers/{name}", {
  params: { path: { name } }, body: { types: ["client.made"], order: "none" },
}));
const sub = must(await api.POST("/v1/subscriptions", {
  body: { name: "ts", url: receiver, types: ["client.made"], order: "key" },
}));
const published = await publish(20);
const events = await page();
console.log(JSON.stringify({
  published, paged: events.length, acked: await work(name), pointer: await refused(),
  subscription: sub.id, seqs: events.map((e) => e.seq),
}));
