// Talking to the service: one function for every request, problem details as errors.
import { mount } from './home.js';

/** The path of the API. */
export const BASE = `${mount}/api/v1`;
/** No answer after so long is no answer. Commands to a bottle take longest. */
const PATIENCE = { read: 10_000, write: 20_000, bottle: 60_000, file: 600_000 };

/** What the service refused, in its own words. */
export class Problem extends Error {
  constructor(status, body) {
    super(body?.detail || body?.title || `HTTP ${status}`);
    this.status = status;
    this.code = body?.code ?? null;
  }
}

/** No answer came: the service is away, or the way to it. */
export class Silence extends Error {}

/** Counts what is asked and what is taken: that orders them without any clock, of which the service's may be set and ours, too. */
let turns = 0;
export const nextTurn = () => (turns += 1);
const origins = new WeakMap();
/** Of a state or session that was an answer: when it was asked for, as turns count, and whether it is an answer of before, given again. */
export const originOf = (value) => origins.get(value);

function noteOrigin(value, origin) {
  for (const part of [value, value?.state, value?.session, value?.session?.state]) if (part && typeof part === 'object') origins.set(part, origin);
}

/** A name for a write, so that sent twice it counts once. `randomUUID` exists in secure contexts only, and this page works in others. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

export async function request(method, path, body, { key, patience } = {}) {
  const headers = { Accept: 'application/json' };
  if (method !== 'GET') headers['Idempotency-Key'] = key ?? newKey();
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const limit = patience ?? (method === 'GET' ? PATIENCE.read : path.startsWith('/bottle') ? PATIENCE.bottle : PATIENCE.write);
  return answered(BASE + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) }, limit);
}

/** Brings a file. It may take long to read it. */
export const send = (path, file) => answered(
  BASE + path, { method: 'POST', headers: { Accept: 'application/json', 'Content-Type': 'application/octet-stream', 'Idempotency-Key': newKey() }, body: file }, PATIENCE.file);

async function answered(address, options, limit) {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), limit);
  const turn = nextTurn();
  let response;
  let text;
  try {
    response = await fetch(address, { ...options, signal: stop.signal, credentials: 'same-origin', cache: 'no-store' });
    text = await response.text();
  } catch (error) {
    throw new Silence(String(error?.message ?? error));
  } finally {
    clearTimeout(timer);
  }
  let value = null;
  try {
    value = text ? JSON.parse(text) : null;
  } catch {
    // A proxy's page in the service's place, for example.
    throw new Silence('The answer is not JSON.');
  }
  if (!response.ok) throw new Problem(response.status, value);
  noteOrigin(value, { turn, isRepeated: response.headers.get('Idempotent-Replayed') === 'true' });
  return value;
}

export const get = (path, options) => request('GET', path, undefined, options);

/** The caller's scope: a phone may not be allowed to set a goal or to download a backup. */
export const scopeHere = async () => (await get('/access')).scope;

/** A query from what is given: `query({ week: '2026-06-15' })` is `?week=2026-06-15`. */
export const query = (values) => {
  const pairs = Object.entries(values).filter(([, value]) => value !== null && value !== undefined);
  return pairs.length ? `?${new URLSearchParams(pairs)}` : '';
};
