// Writes that must not be lost. Each has its key from the first attempt on, is kept on this device until an answer came, and is
// sent again, as it was, with the same key: the service counts it once however often it arrives. What it refuses stays, too, with its
// reason, until a person has sent it again or put it away.
import { newKey, Problem, request, Silence } from './api.js';
import { mount } from './home.js';
import { ask, live, serviceNow } from './live.js';
import { list } from './memory.js';
import { t } from './texts.js';

/** Number of waiting and refused writes, at most. */
const LIMIT = 100;
const listeners = new Set();
const waiting = new Map(); // key: who of this page waits for the answer
let timer = null;
let pause = 1000;
let running = null;

/** Counts the taps of this page: several may fall into one millisecond. */
let turn = 0;

const queue = list('queue');
const refusals = list('refused');
const tell = () => { for (const listener of listeners) listener(queue.all().length, refusals.all()); };

/** Called with the number of writes that wait and with the refused ones, now and at each change. */
export function watchQueue(listener) {
  listeners.add(listener);
  listener(queue.all().length, refusals.all());
  return () => listeners.delete(listener);
}

/** An instant as the service reads it, whole seconds. */
export const isoOf = (milliseconds) => `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;

/**
 * Hands a write over. The promise ends with the service's answer, or fails with its refusal; as long as the service is away it does
 * neither, and the write waits on this device.
 */
export function enqueue(method, path, body) {
  const item = { key: newKey(), method, path, body, made: Date.now(), turn: (turn += 1) };
  if (queue.all().length + refusals.all().length >= LIMIT) return Promise.reject(new Silence(t.tooManyTaps));
  queue.put(item);
  tell();
  const answer = new Promise((resolve, reject) => waiting.set(item.key, { resolve, reject }));
  flush();
  return answer;
}

/** Sends what waits, in the order of the taps. Called again by itself while the service is away. */
export function flush() {
  clearTimeout(timer);
  timer = null;
  running ??= withLock(sendAll).finally(() => { running = null; });
  return running;
}

/** Two open pages share the list: one of them sends. Without the lock (no secure context) both may, and the key makes it count once. */
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
        // Away, overloaded or not let in: the write stays, the next attempt comes later and later, up to half a minute.
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

/** `underWay`: the attempt before this one is still being done. `notFound`: the service does not answer at this address, or not yet. */
const isRefusal = (error) => error instanceof Problem && error.status < 500 && ![401, 408, 425, 429].includes(error.status) && !['underWay', 'notFound'].includes(error.code);

/** The service refused a tap as in the future: its clock was set back. The same tap is sent with a time by the present clock. */
async function isDatedAnew(item) {
  if (!item.body?.at || item.isDatedAnew) return false;
  await ask();
  if (Date.parse(item.body.at) <= serviceNow()) return false;
  replace(item, { ...dated(item), isDatedAnew: true });
  return true;
}

/** With the time that has passed since the tap, by the service's clock as it is now; where that cannot be, the service dates it itself. It says something else, so it has another key. */
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
  // In its place, in one step: never both, and never neither.
  queue.put({ ...next, slot: item.slot ?? item.key });
  tell();
}

/** Sends a refused write once more: what stood against it may be over. */
export function sendAgain(key) {
  const item = refusals.all().find((each) => each.key === key);
  if (!item) return;
  const { reason: _, isDatedAnew: __, slot: ___, ...again } = dated(item);
  queue.put(again);
  discard(key);
  flush();
}

/** A person has seen that a write was refused, and puts it away. */
export const discard = (key) => {
  for (const item of refusals.all()) if (item.key === key) refusals.remove(item);
  tell();
};

addEventListener('online', () => flush());
// Another page of this browser added something, or sent it.
addEventListener('storage', (event) => { if (event.key === null || /^waterh\.(queue|refused)/.test(event.key)) tell(); });
