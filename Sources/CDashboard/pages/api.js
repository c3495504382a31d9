// Requests to the service. Problem details become errors.
import { mount } from './home.js';

export const BASE = `${mount}/api/v1`;
/** Time limits in milliseconds. Commands to a bottle take longest. */
const PATIENCE = { read: 10_000, write: 20_000, bottle: 60_000, file: 600_000 };

export class Problem extends Error {
  constructor(status, body) {
    super(body?.detail || body?.title || `HTTP ${status}`);
    this.status = status;
    this.code = body?.code ?? null;
  }
}

/** No response: the service or the network is unavailable. */
export class Silence extends Error {}

/** Counts requests and accepted responses. Unlike a clock, it cannot be set back. */
let turns = 0;
export const nextTurn = () => (turns += 1);
const origins = new WeakMap();
/** For a state or session from a response: the turn of its request, and whether the response is a repeated one. */
export const originOf = (value) => origins.get(value);

function noteOrigin(value, origin) {
  for (const part of [value, value?.state, value?.session, value?.session?.state]) if (part && typeof part === 'object') origins.set(part, origin);
}

/** An idempotency key for a write. `randomUUID` requires a secure context, but this page must also work without. */
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

/** Sends a file. Reading it may take long. */
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
    throw new Silence('The answer is not JSON.');
  }
  if (!response.ok) throw new Problem(response.status, value);
  noteOrigin(value, { turn, isRepeated: response.headers.get('Idempotent-Replayed') === 'true' });
  return value;
}

export const get = (path, options) => request('GET', path, undefined, options);

export const scopeHere = async () => (await get('/access')).scope;

export const query = (values) => {
  const pairs = Object.entries(values).filter(([, value]) => value !== null && value !== undefined);
  return pairs.length ? `?${new URLSearchParams(pairs)}` : '';
};
