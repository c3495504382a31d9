// Writes that must not be lost. Each has its key from the first attempt on, is kept on this device until an answer came, and is
// sent again, as it was, with the same key: the service counts it once however often it arrives.
import { home } from './home.js';
import { newKey, Problem, request, Silence } from './api.js';
import { remembered } from './memory.js';
import { t } from './texts.js';

/** So many wait at most; nobody taps more while a service is away. */
const LIMIT = 100;
const listeners = new Set();
const waiting = new Map(); // key: who of this page waits for the answer
let timer = null;
let pause = 1000;
let running = null;

const stored = () => remembered.queue ?? [];
const keep = (list) => {
  remembered.queue = list.length ? list : null;
  for (const listener of listeners) listener(list.length);
};

/** Called with the number of writes that wait, now and at each change. */
export function watchQueue(listener) {
  listeners.add(listener);
  listener(stored().length);
  return () => listeners.delete(listener);
}

export const queued = () => stored().length;

/**
 * Hands a write over. The promise ends with the service's answer, or fails with its refusal; as long as the service is away it does
 * neither, and the write waits on this device.
 */
export function enqueue(method, path, body) {
  const item = { key: newKey(), method, path, body, made: Date.now() };
  if (stored().length >= LIMIT) return Promise.reject(new Silence(t.tooManyTaps));
  keep([...stored(), item]);
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
  return navigator.locks.request(`waterh.queue${home}`, work);
}

async function sendAll() {
  for (let item = stored()[0]; item; item = stored()[0]) {
    const party = waiting.get(item.key);
    let outcome;
    try {
      const value = await request(item.method, item.path, item.body, { key: item.key });
      outcome = () => party?.resolve(value);
    } catch (error) {
      // `underWay`: the attempt before this one is still being done.
      const isRefused = error instanceof Problem && error.status < 500 && ![401, 408, 425, 429].includes(error.status) && error.code !== 'underWay';
      if (!isRefused) {
        // Away, overloaded or not let in: the write stays, the next attempt comes later and later, up to half a minute.
        if (error instanceof Problem && error.status === 401) dispatchEvent(new CustomEvent('waterh-unpaired'));
        timer = setTimeout(flush, pause);
        pause = Math.min(pause * 2, 30_000);
        return;
      }
      outcome = () => (party ? party.reject(error) : dispatchEvent(new CustomEvent('waterh-refused', { detail: error.message })));
    }
    pause = 1000;
    waiting.delete(item.key);
    keep(stored().filter((other) => other.key !== item.key));
    outcome();
  }
}

addEventListener('online', () => flush());
