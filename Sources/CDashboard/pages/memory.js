// What this device remembers. Storage may be switched off or full: then the page works without.
import { person } from './home.js';

/** What is one person's, and not the device's: several may look at their days here. */
const PERSONAL = new Set(['state', 'queue', 'refused', 'confettiDay', 'push']);
/** Lists, of which none may be lost where two come together. */
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

/** What was kept for one person, under a name or an id, is the other's from now on: it is the same person. Nobody (`''`) is who has the house alone. */
export function carry(from, to) {
  for (const name of PERSONAL) {
    const [old, next] = [keyAt(name, from), keyAt(name, to)];
    const value = parsed(old);
    if (old === next || value === null) continue;
    const there = parsed(next);
    if (LISTS.has(name)) put(next, [...(there ?? []), ...value.filter((one) => !there?.some((other) => other.key === one.key))]);
    else if (there === null) put(next, value);
    // Only what arrived is let go: the place may be full.
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
  try {
    const isOurs = (key) => key.startsWith('waterh.') && key !== 'waterh.ids' && (!key.includes('@') || key.endsWith(`@${own ?? person}`));
    for (const key of Object.keys(localStorage)) if (isOurs(key)) localStorage.removeItem(key);
  } catch { /* As above. */ }
};
