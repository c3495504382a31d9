// Which table of texts is used: what this device was told, else the browser's first language that we have.
import en from './texts-en.js';
import de from './texts-de.js';
import { remembered } from './memory.js';

const tables = { en, de };
const wanted = [remembered.language, ...(navigator.languages ?? [navigator.language])]
  .filter(Boolean).map((tag) => tag.slice(0, 2).toLowerCase());

export const language = wanted.find((tag) => tables[tag]) ?? 'en';
/** The texts; a text that needs something is a function. What a table lacks is English. */
export const t = { ...en, ...tables[language] };

/** A sentence of the service in the page's language. The service speaks English; what is not known stays as it is. */
export function said(text) {
  if (!text || language === 'en') return text ?? '';
  for (const [pattern, replacement] of t.sentences ?? []) {
    if (pattern.test(text)) return text.replace(pattern, replacement);
  }
  return text;
}
