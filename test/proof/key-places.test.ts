/**
 * Which keys get the places for tables: those that sign most now.
 */
import { describe, expect, test } from 'vitest';
import { KeyPlaces } from '../../src/proof/comb/key-places.ts';
import { SIGHTS } from './tables.ts';

describe('places', () => {
  const keyOf = (number: number, word = 0) => Uint32Array.from({ length: 8 }, (_, i) => (i === word ? number : 5));

  function see(places: KeyPlaces, key: Uint32Array, times: number): number {
    for (let i = 0; i < times; i++) {
      if (places.find(key, 0) >= 0) continue;
      const place = places.claim(key, 0);
      if (place >= 0) places.take(place, key, 0, true);
    }
    return places.find(key, 0);
  }

  test('keys that differ in one word only are kept apart', () => {
    const places = new KeyPlaces(64, 3);
    for (let word = 0; word < 8; word++) expect(see(places, keyOf(9, word), SIGHTS)).toBeGreaterThanOrEqual(0);
    const found = Array.from({ length: 8 }, (_, word) => places.find(keyOf(9, word), 0));
    expect(new Set(found.filter((place) => place >= 0)).size).toBe(found.filter((place) => place >= 0).length);
    expect(places.find(keyOf(8, 7), 0)).toBe(-1);
  });

  test('a few signatures are worth no table, though there is room', () => {
    const places = new KeyPlaces(64, 3);
    expect(see(places, keyOf(1), 4)).toBe(-1);
    expect(see(places, keyOf(1), SIGHTS)).toBeGreaterThanOrEqual(0);
  });

  test('keys seen once do not push out those that are seen all the time', () => {
    const places = new KeyPlaces(64, 3);
    const regulars = Array.from({ length: 16 }, (_, i) => keyOf(i + 1));
    for (const key of regulars) see(places, key, 100);
    for (let i = 0; i < 10_000; i++) {
      see(places, keyOf(1000 + i), 1);
      places.find(regulars[i % 16]!, 0);
    }
    for (const key of regulars) expect(places.find(key, 0)).toBeGreaterThanOrEqual(0);
  });

  test('who has stopped signing makes room for who signs now', () => {
    const places = new KeyPlaces(8, 3);
    for (let i = 0; i < 8; i++) see(places, keyOf(i + 1), 100);
    const newcomer = keyOf(77);
    expect(see(places, newcomer, 20)).toBe(-1);
    expect(see(places, newcomer, 200)).toBeGreaterThanOrEqual(0);
  });

  test('however much was signed once is forgotten in time', () => {
    const places = new KeyPlaces(8, 3);
    for (let i = 0; i < 8; i++) see(places, keyOf(i + 1), 1000);
    expect(see(places, keyOf(77), 6000)).toBeGreaterThanOrEqual(0);
  });

  test('from when it is claimed a place is nobody’s, so that a table half made is found by none', () => {
    const places = new KeyPlaces(8, 3);
    const keys = Array.from({ length: 8 }, (_, i) => keyOf(i + 1));
    for (const key of keys) expect(see(places, key, SIGHTS)).toBeGreaterThanOrEqual(0);
    const newcomer = keyOf(77);
    for (let i = 0; i < 100; i++) places.find(newcomer, 0);
    const claimed = places.claim(newcomer, 0);
    expect(claimed).toBeGreaterThanOrEqual(0);
    const found = [newcomer, ...keys].map((key) => places.find(key, 0)).filter((place) => place >= 0);
    expect(found).toHaveLength(7);
    expect(found).not.toContain(claimed);
  });
});
