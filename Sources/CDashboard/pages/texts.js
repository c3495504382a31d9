// Selects the language: this device's setting, or else the browser's first supported language.
import en from './texts-en.js';
import de from './texts-de.js';
import { remembered } from './memory.js';

const tables = { en, de };
const wanted = [remembered.language, ...(navigator.languages ?? [navigator.language])]
  .filter(Boolean).map((tag) => tag.slice(0, 2).toLowerCase());

export const language = wanted.find((tag) => tables[tag]) ?? 'en';
/** The texts; a text with parameters is a function. English is the fallback. */
export const t = { ...en, ...tables[language] };

/** A sentence of the service in the page's language; unknown ones stay English. */
export function said(text) {
  if (!text || language === 'en') return text ?? '';
  for (const [pattern, replacement] of t.sentences ?? []) {
    if (pattern.test(text)) return text.replace(pattern, replacement);
  }
  return text;
}
