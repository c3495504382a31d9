// Local storage. If it is disabled or full, the page works without.

function parsed(key) {
  try { return JSON.parse(localStorage.getItem(key)); } catch { return null; }
}

const keyOf = (name) => `waterh.${name}`;

const read = (name) => parsed(keyOf(name));

function put(key, value) {
  try {
    if (value === null || value === undefined) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(value));
  } catch { /* The value is lost when the page closes. */ }
}

const fallback = new Map();

/** `remembered.figure = true`; `null` deletes the value. */
export const remembered = new Proxy({}, {
  get: (_, name) => (fallback.has(name) ? fallback.get(name) : read(name)),
  set: (_, name, value) => {
    fallback.set(name, value);
    put(keyOf(name), value);
    return true;
  },
});

/** Entries that could not be stored, by their storage key; kept until the page is closed. */
const loose = new Map();
const keys = () => { try { return Object.keys(localStorage); } catch { return []; } };

/** Converts the list of an earlier version, which had a single value. */
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

/** A list to which several pages of this browser add. Each entry (`key`, `made` in milliseconds, `turn` within a
 *  millisecond) has its own storage key, `slot` if it was replaced. If each page wrote the whole list, simultaneous
 *  additions would be lost. */
export const list = (name) => ({
  all: () => entriesAt(keyOf(name)),
  put: (entry) => putEntry(keyOf(name), entry),
  remove: (entry) => {
    const key = placeOf(keyOf(name), entry);
    loose.delete(key);
    put(key, null);
  },
});

/** Another page of this browser has written: the cache is outdated. */
addEventListener('storage', (event) => {
  if (event.key === null) fallback.clear();
  else for (const name of [...fallback.keys()]) if (event.key === keyOf(name)) fallback.delete(name);
});

export const forgetAll = () => {
  fallback.clear();
  loose.clear();
  for (const key of keys()) if (key.startsWith('waterh.')) put(key, null);
};
