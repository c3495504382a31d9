// Writes that must not be lost. Each has an idempotency key, is stored on this device until the response, and is resent
// unchanged: the service executes it once. A rejected write stays with its reason until the user resends or discards
// it.
import { newKey, Problem, request, Silence } from './api.js';
import { mount } from './home.js';
import { ask, live, serviceNow } from './live.js';
import { list } from './memory.js';
import { t } from './texts.js';

/** The maximum number of pending and rejected writes. */
const LIMIT = 100;
const listeners = new Set();
const waiting = new Map(); // by key: the callers of this page that await the response
let timer = null;
let pause = 1000;
let running = null;

/** Orders the taps within a millisecond. */
let turn = 0;

const queue = list('queue');
const refusals = list('refused');
const tell = () => { for (const listener of listeners) listener(queue.all().length, refusals.all()); };

/** Called with the number of pending writes and the rejected ones, now and at each change. */
export function watchQueue(listener) {
  listeners.add(listener);
  listener(queue.all().length, refusals.all());
  return () => listeners.delete(listener);
}

export const isoOf = (milliseconds) => `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;

/** Queues a write. Resolves with the service's response, or rejects with its error. While the service is unavailable
 *  it stays pending, and the write stays on this device. */
export function enqueue(method, path, body) {
  const item = { key: newKey(), method, path, body, made: Date.now(), turn: (turn += 1) };
  if (queue.all().length + refusals.all().length >= LIMIT) return Promise.reject(new Silence(t.tooManyTaps));
  queue.put(item);
  tell();
  const answer = new Promise((resolve, reject) => waiting.set(item.key, { resolve, reject }));
  flush();
  return answer;
}

/** Sends pending writes in the order of the taps. Repeats automatically while the service is unavailable. */
export function flush() {
  clearTimeout(timer);
  timer = null;
  running ??= withLock(sendAll).finally(() => { running = null; });
  return running;
}

/** Pages share the queue and send one at a time. Without the lock (no secure context) both may send: the key
 *  prevents a double execution. */
async function withLock(work) {
  if (!navigator.locks) return work();
  return navigator.locks.request(`waterh.queue${mount}`, work);
}

function later() {
  timer = setTimeout(flush, pause);
  pause = Math.min(pause * 2, 30_000);
}

async function sendAll() {
  for (let item = queue.all()[0]; item; item = queue.all()[0]) {
    let outcome;
    try {
      const value = await request(item.method, item.path, item.body, { key: item.key });
      outcome = (party) => party?.resolve(value);
    } catch (error) {
      if (!isRefusal(error)) {
        // Unavailable, overloaded or unauthorised: the write stays, and the interval of attempts grows to 30 s.
        if (error instanceof Problem && error.status === 401) dispatchEvent(new CustomEvent('waterh-signed-out'));
        return later();
      }
      if (await isDatedAnew(item)) continue;
      refusals.put({ ...item, reason: error.message });
      outcome = (party) => (party ? party.reject(error) : dispatchEvent(new CustomEvent('waterh-refused', { detail: error.message })));
    }
    pause = 1000;
    const party = waiting.get(item.key);
    waiting.delete(item.key);
    queue.remove(item);
    tell();
    outcome(party);
  }
}

/** `underWay`: the previous attempt is in progress. `notFound`: the service is not available at this address yet. */
const isRefusal = (error) => error instanceof Problem && error.status < 500 && ![401, 408, 425, 429].includes(error.status) && !['underWay', 'notFound'].includes(error.code);

/** The service rejected a tap as in the future: its clock was set back. The tap is sent again with a corrected time. */
async function isDatedAnew(item) {
  if (!item.body?.at || item.isDatedAnew) return false;
  await ask();
  if (Date.parse(item.body.at) <= serviceNow()) return false;
  replace(item, { ...dated(item), isDatedAnew: true });
  return true;
}

/** Dates a write by the time passed since the tap, on the service's present clock; if that is impossible, the
 *  service dates it. The content differs, so it gets another key. */
function dated(item) {
  const at = Math.floor((item.made + live.offset) / 1000) * 1000;
  const { at: _, ...body } = item.body ?? {};
  const start = { '/drinks': -Infinity, '/session/drink': live.state?.waterline?.startTime, '/session/water': live.state?.waterline?.startTime }[item.path] ?? Infinity;
  if (at <= serviceNow() && at > start * 1000) body.at = isoOf(at);
  return { ...item, body: item.body && body, key: newKey() };
}

function replace(item, next) {
  const party = waiting.get(item.key);
  waiting.delete(item.key);
  if (party) waiting.set(next.key, party);
  // Replaces the write in one step.
  queue.put({ ...next, slot: item.slot ?? item.key });
  tell();
}

export function sendAgain(key) {
  const item = refusals.all().find((each) => each.key === key);
  if (!item) return;
  const { reason: _, isDatedAnew: __, slot: ___, ...again } = dated(item);
  queue.put(again);
  discard(key);
  flush();
}

export const discard = (key) => {
  for (const item of refusals.all()) if (item.key === key) refusals.remove(item);
  tell();
};

addEventListener('online', () => flush());
addEventListener('storage', (event) => { if (event.key === null || /^waterh\.(queue|refused)/.test(event.key)) tell(); });
