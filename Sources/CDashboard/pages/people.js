// Several people in one house: each has pages of their own, and a simple choice leads from one to the other.
import { get } from './api.js';
import { h } from './dom.js';
import { mount, owner, pathOf, person } from './home.js';
import { t } from './texts.js';

/** Shows who else is here, and goes from the house's address to the pages of whom it means: what waits there is that person's. */
export async function people(place) {
  const { people: all, meant } = await get('/people', { isHouse: true });
  const page = all.find((one) => one.name === meant)?.page;
  if (!owner && page && page !== '/') return location.replace(mount + page.replace(/\/$/, '') + (pathOf() === '/' ? '/' : pathOf()) + location.search);
  const open = all.filter((one) => one.scope);
  if (!place || open.length < 2) return undefined;
  place.replaceChildren(...open.map((one) => h('a', { href: mount + one.page, 'aria-current': one.name === person ? 'true' : null }, one.name)));
  place.setAttribute('aria-label', t.people);
  place.hidden = false;
  return undefined;
}
