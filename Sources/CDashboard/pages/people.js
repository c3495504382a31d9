// Several people in one house: each has pages of their own, and a simple choice leads from one to the other.
import { get } from './api.js';
import { h } from './dom.js';
import { mount, owner, pathOf, person } from './home.js';
import { adopt, carry, learn, ownID } from './memory.js';
import { t } from './texts.js';

let isSettled = false;
let asking = null;

/** From now on it is not sure whether the name in this page's address means whom it meant: names may be changed, and given to somebody else. */
export const unsettle = () => { isSettled = false; };

/**
 * Makes sure whose page this is: `here`; `moves`, where this person is called otherwise by now and the page goes there, with all that waits; or `unknown`, where
 * nobody goes by the name. Fails where nobody answers.
 */
export async function settle() {
  if (isSettled) return 'here';
  asking ??= look().finally(() => { asking = null; });
  return (await asking).where;
}

async function look() {
  const { people: all, meant } = await get('/people', { isHouse: true });
  const mine = ownID();
  learn(all);
  const open = all.filter((one) => one.scope);
  const isNamed = all.some((one) => one.name === person);
  // Who was never told what stays is the only one that we may look at.
  const me = mine ? all.find((one) => one.id === mine) : !isNamed && open.length === 1 && open[0];
  if (owner && me && me.name !== person) {
    if (!mine) carry(person, me.id);
    go(me.page);
    return { all, meant, where: 'moves' };
  }
  if (owner && mine && !me && isNamed) adopt(all.find((one) => one.name === person).id ?? null);
  isSettled = !owner || isNamed;
  return { all, meant, where: isSettled ? 'here' : 'unknown' };
}

/** What who is here may do: not every phone that was let in may set a goal, or take a backup. */
export async function scopeHere() {
  const { people: all, meant } = await get('/people', { isHouse: true });
  return all.find((one) => one.name === (person ?? meant))?.scope;
}

const go = (page) => location.replace(mount + page.replace(/\/$/, '') + (pathOf() === '/' ? '/' : pathOf()) + location.search);

/** Shows who else is here, and goes from the house's address to the pages of whom it means: what waits there is that person's. */
export async function people(place) {
  const { all, meant, where } = await (asking ??= look().finally(() => { asking = null; }));
  if (where === 'moves') return undefined;
  const page = all.find((one) => one.name === meant)?.page;
  if (!owner && page && page !== '/') {
    carry('', all.find((one) => one.name === meant).id ?? meant);
    return go(page);
  }
  const open = all.filter((one) => one.scope);
  if (!place || open.length < 2) return undefined;
  place.replaceChildren(...open.map((one) => h('a', { href: mount + one.page, 'aria-current': one.name === person ? 'true' : null }, one.name)));
  place.setAttribute('aria-label', t.people);
  place.hidden = false;
  return undefined;
}
