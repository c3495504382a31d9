// What this device remembers. Storage may be switched off or full: then the page works without.

function parsed(key) {
  try { return JSON.parse(localStorage.getItem(key)); } catch { return null; }
}

const keyOf = (name) => `waterh.${name}`;

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

/** Another page of this browser wrote: what we hold is old. */
addEventListener('storage', (event) => {
  if (event.key === null) fallback.clear();
  else for (const name of [...fallback.keys()]) if (event.key === keyOf(name)) fallback.delete(name);
});

export const forgetAll = () => {
  fallback.clear();
  loose.clear();
  for (const key of keys()) if (key.startsWith('waterh.')) put(key, null);
};
