// Formats times, dates and amounts. Times use the tracker's zone, which defines the day, not the device's.
import { language, t } from './texts.js';
import { live, serviceNow } from './live.js';
import { tenthsOfLitre } from './litres.js';

const known = new Map();

function formatter(options) {
  const key = JSON.stringify(options);
  if (!known.has(key)) {
    let made;
    // If the browser does not support the zone, its own zone is used.
    try { made = new Intl.DateTimeFormat(language, options); } catch { made = new Intl.DateTimeFormat(language, { ...options, timeZone: undefined }); }
    known.set(key, made);
  }
  return known.get(key);
}

const zone = (own) => own ?? live.state?.zone;

export const instant = (value) => (typeof value === 'number' ? new Date(value * 1000) : new Date(value));

export const clock = (value, own) => formatter({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone: zone(own) }).format(instant(value));

export const wallDate = (value, own) => {
  const parts = Object.fromEntries(new Intl.DateTimeFormat('en', { year: 'numeric', month: '2-digit', day: '2-digit', timeZone: zone(own), calendar: 'gregory' })
    .formatToParts(instant(value)).map(({ type, value: text }) => [type, text]));
  return `${parts.year}-${parts.month}-${parts.day}`;
};

/** A day's key is a date without a zone. */
const dayDate = (key) => new Date(`${key}T12:00:00Z`);
export const dayLong = (key) => formatter({ weekday: 'long', day: 'numeric', month: 'long', timeZone: 'UTC' }).format(dayDate(key));
export const dayShort = (key) => formatter({ day: 'numeric', month: 'short', timeZone: 'UTC' }).format(dayDate(key));
export const weekday = (key) => formatter({ weekday: 'short', timeZone: 'UTC' }).format(dayDate(key));
export const monthName = (month) => formatter({ month: 'long', year: 'numeric', timeZone: 'UTC' }).format(dayDate(`${month}-01`));
export const monthShort = (month) => formatter({ month: 'short', timeZone: 'UTC' }).format(dayDate(`${month}-01`));
export const dayOfMonth = (key) => String(Number(key.slice(8)));

/** `addDays('2026-03-01', -1)` is `2026-02-28`. */
export const addDays = (key, days) => new Date(dayDate(key).getTime() + days * 86_400_000).toISOString().slice(0, 10);

export const addMonths = (month, months) => {
  const [year, number] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number - 1 + months, 15)).toISOString().slice(0, 7);
};

/** Date and time; today only the time. */
export const moment = (value) => {
  if (value === null || value === undefined) return t.never;
  const date = wallDate(value);
  return date === wallDate(serviceNow() / 1000) ? clock(value) : `${dayShort(date)}, ${clock(value)}`;
};

const numbers = new Intl.NumberFormat(language === 'en' ? 'en-US' : language, { maximumFractionDigits: 3 });
const tenths = new Intl.NumberFormat(language === 'en' ? 'en-US' : language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
export const number = (value) => numbers.format(value);
/** An amount of drink in the user's units (`hydration.units`); the API uses millilitres. */
export function ml(value) {
  const units = live.state?.units;
  if (units === 'oz') return `${number(Math.round(value / ML_PER_OZ * 10) / 10)} oz`;
  return units === 'l' ? `${number(value / 1000)} l` : `${number(value)} ml`;
}

/** The initial value of an amount field, in those units, readable by `typedMl`; millilitres have no unit. */
export const fieldMl = (value) => (['oz', 'l'].includes(live.state?.units) ? ml(value) : String(value));

/** The label of such a field: `Amount, ml` or `Amount, oz`. */
export const inUnits = (name) => (['oz', 'l'].includes(live.state?.units) ? name.replace(/ml$/, live.state.units) : name);

/** The same in little space: litres, or whole ounces, without a unit. */
export const mlShort = (value) => (live.state?.units === 'oz' ? number(Math.round(value / ML_PER_OZ)) : litres(value));

export const litres = (value) => tenths.format(Number(tenthsOfLitre(value)));

/** `2 h 27 min`, in whole minutes. */
export const duration = (seconds) => {
  const minutes = Math.max(0, Math.floor(seconds / 60));
  return minutes >= 60 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${minutes} min`;
};

/** The drift of a clock: exact to the second if small, else rounded. */
export const offset = (seconds) => {
  const size = Math.abs(seconds);
  if (size < 600) return `${number(size)}\u00A0s`;
  return size < 7200 ? `${number(Math.round(size / 60))}\u00A0min` : `${number(Math.round(size / 360) / 10)}\u00A0h`;
};

/** `08:40`; from one hour on `2 h 27 min`. */
export const countdown = (seconds) => {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole >= 3600) return duration(whole);
  return `${String(Math.floor(whole / 60)).padStart(2, '0')}:${String(whole % 60).padStart(2, '0')}`;
};

export const ML_PER_OZ = 29.5735;
const ML_OF_UNIT = { ml: 1, cl: 10, dl: 100, l: 1000, oz: ML_PER_OZ, floz: ML_PER_OZ };
/** Parses an amount in millilitres: `250`, `0.25 l`, `8oz`, as on the command line; `null` if invalid. */
export function typedMl(text) {
  // The format of `ml`. Other grouped numbers are invalid, because they could mean a thousandth.
  const grouped = /^\s*(\d{1,3}),(\d{3})\s*ml\s*$/i.exec(text);
  if (grouped) return Number(grouped[1] + grouped[2]);
  if (/[.,]\d{3}\s*[mcd]l\s*$/i.test(text) || /,\d{3}\s*(fl\s*)?oz\s*$/i.test(text)) return null;
  const found = /^\s*(\d+|\d*[.,]\d+)\s*(ml|cl|dl|l|oz|fl\s*oz)\s*$/i.exec(text);
  if (!found) return /^\s*\d+\s*$/.test(text) ? Number(text) : null;
  return Math.floor(Number(found[1].replace(',', '.')) * ML_OF_UNIT[found[2].toLowerCase().replace(/\s/g, '')] + 0.5);
}
/** A volume in the configured unit. */
export const volume = (oz, units) => (units === 'ml' ? `${Math.round(oz * ML_PER_OZ)} ml` : `${number(Math.round(oz * 10) / 10)} oz`);
export const signed = (value) => (value > 0 ? `+${number(value)}` : number(value).replace('-', '−'));

/** The range and default of the setting `hydration.goalMl`, ml. */
export const goals = { least: 500, most: 5000, usual: 2500 };
