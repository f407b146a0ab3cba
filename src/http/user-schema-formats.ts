/** The formats a user's schema may ask for: each a few steps on a text that is short, none of them backtracking. */

const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d{1,9})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

export const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && isDate(text),
  time: (text) => text.length <= 64 && TIME.test(text),
  'date-time': (text) =>
    text.length <= 64 && /^\d{4}-\d\d-\d\d[Tt]/.test(text) && isDate(text.slice(0, 10)) && TIME.test(text.slice(11)),
  email: (text) => text.length <= 320 && /^[^\s@]{1,64}@[^\s@]{1,255}$/.test(text),
  uri: (text) => text.length <= 4096 && /^[A-Za-z][A-Za-z0-9+.-]*:[^\s]*$/.test(text),
  uuid: (text) => /^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/.test(text),
  ipv4: (text) => /^(?:\d{1,3}\.){3}\d{1,3}$/.test(text) && text.split('.').every(isByte),
};

/** A day there is in the proleptic Gregorian calendar. */
export function isDate(text: string): boolean {
  const [year, month, day] = text.split('-').map(Number) as [number, number, number];
  if (month < 1 || month > 12 || day < 1) return false;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day <= (month === 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31);
}

function isByte(text: string): boolean {
  return Number(text) <= 255 && (text === '0' || !text.startsWith('0'));
}
