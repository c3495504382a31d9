// What this device remembers. Storage may be switched off or full: then the page works without.
import { person } from './home.js';

/** What is one person's, and not the device's: several may look at their days here. */
const PERSONAL = new Set(['state', 'queue', 'refused', 'confettiDay']);
/** Lists of which nothing may be lost: each entry stands by itself in the storage. */
const LISTS = new Set(['queue', 'refused']);
/** So many people's names are remembered. */
const LIMIT = 64;

function parsed(key) {
  try { return JSON.parse(localStorage.getItem(key)); } catch { return null; }
}

/** What stays of this page's person when the name is changed: the id that the service gave (`/people`); null before it did. */
let own = (person && parsed('waterh.ids')?.[person]) ?? null;
export const ownID = () => own;

/** Nobody has that day any more (a purge): this page is of whoever has its name now; `null` where that one has begun nothing. */
export function adopt(id) {
  if (own === id) return;
  own = id;
  fallback.clear();
  loose.clear();
}

const keyAt = (name, whose) => (whose && PERSONAL.has(name) ? `waterh.${name}@${whose}` : `waterh.${name}`);
const keyOf = (name) => keyAt(name, own ?? person);

const read = (name) => parsed(keyOf(name));

function put(key, value) {
  try {
    if (value === null || value === undefined) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(value));
  } catch { /* Nothing to be done: it is forgotten with this page. */ }
}

const fallback = new Map();

/** `remembered.figure = true`; `null` forgets. */
export const remembered = new Proxy({}, {
  get: (_, name) => (fallback.has(name) ? fallback.get(name) : read(name)),
  set: (_, name, value) => {
    fallback.set(name, value);
    put(keyOf(name), value);
    return true;
  },
});

/** Entries that the storage did not take, by the key that they were to have there: they are forgotten with this page. */
const loose = new Map();
const keys = () => { try { return Object.keys(localStorage); } catch { return []; } };

/** Before this one went a version that kept a list in one piece. */
function takeApart(at) {
  const list = parsed(at);
  if (!Array.isArray(list)) return;
  list.forEach((entry, turn) => putEntry(at, { turn, ...entry }));
  put(at, null);
}

const placeOf = (at, entry) => `${at}:${entry.slot ?? entry.key}`;

function putEntry(at, entry) {
  const key = placeOf(at, entry);
  put(key, entry);
  if (parsed(key) === null) loose.set(key, entry); else loose.delete(key);
}

function entriesAt(at) {
  takeApart(at);
  const found = new Map(keys().filter((key) => key.startsWith(`${at}:`)).map((key) => [key, parsed(key)]));
  for (const [key, entry] of loose) if (key.startsWith(`${at}:`)) found.set(key, entry);
  return [...found.values()].filter((entry) => entry?.key).sort((one, other) => one.made - other.made || (one.turn ?? 0) - (other.turn ?? 0));
}

/**
 * A list that several pages of this browser add to. Each entry (`key`, `made` in milliseconds, `turn` among those of one moment) has a place of its own, called `slot`
 * where it got another key: what two pages add at the same moment is both there, where each writing the whole list would take away what the other had added.
 */
export const list = (name) => ({
  all: () => entriesAt(keyOf(name)),
  put: (entry) => putEntry(keyOf(name), entry),
  remove: (entry) => {
    const key = placeOf(keyOf(name), entry);
    loose.delete(key);
    put(key, null);
  },
});

/** What was kept for one person, under a name or an id, is the other's from now on: it is the same person. Nobody (`''`) is who has the house alone. */
export function carry(from, to) {
  for (const name of PERSONAL) {
    const [old, next] = [keyAt(name, from), keyAt(name, to)];
    if (old === next) continue;
    for (const entry of LISTS.has(name) ? entriesAt(old) : []) {
      const [before, after] = [placeOf(old, entry), placeOf(next, entry)];
      if (parsed(after) === null) putEntry(next, entry);
      // Only what arrived is let go: the place may be full.
      if (parsed(after) !== null) put(before, null);
      loose.delete(before);
    }
    const value = parsed(old);
    if (value === null) continue;
    if (parsed(next) === null) put(next, value);
    if (parsed(next) !== null) put(old, null);
  }
}

/** Who is here, as the service says: what is kept hangs on what stays of them. */
export function learn(people) {
  const before = own;
  const known = parsed('waterh.ids') ?? {};
  for (const { name, id } of people) {
    if (!id) continue;
    if (!known[name]) carry(name, id);
    // The last ones are kept.
    delete known[name];
    known[name] = id;
    if (name === person) own ??= id;
  }
  if (person || people.length > 1) put('waterh.ids', Object.fromEntries(Object.entries(known).slice(-LIMIT)));
  if (before === own) return;
  // What was carried over is read anew; what could not be written is still here.
  for (const name of PERSONAL) if (read(name) !== null) fallback.delete(name);
}

/** Another page of this browser wrote: what we hold is old. */
addEventListener('storage', (event) => {
  if (event.key === null) fallback.clear();
  else for (const name of [...fallback.keys()]) if (event.key === keyOf(name)) fallback.delete(name);
});

export const forgetAll = () => {
  fallback.clear();
  loose.clear();
  const isOurs = (key) => key.startsWith('waterh.') && key !== 'waterh.ids' && (!key.includes('@') || key.split(':')[0].endsWith(`@${own ?? person}`));
  for (const key of keys()) if (isOurs(key)) put(key, null);
};
