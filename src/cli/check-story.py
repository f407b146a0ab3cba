#!/usr/bin/env python3
"""Checks a story that `ayni export` wrote: python3 check-story.py <story.json> <the server's public key, base64>

Trusts that key and nothing else: the hashes, digests and signatures of the record, the journal's entries about it, that
the record is what they tell (status, labels, owners, each proof in its place), the place of each in its frame, and every
link from there to the head the server signed. Standard library only; the Ed25519
below is RFC 8032, for checking: it is slow and keeps no secret. Ends with 0 where all is proven, 2 where only what is
signed on the record is, as the file does not hold the frames of its entries, 1 where anything is wrong."""
import base64, datetime, decimal, hashlib, json, re, sys; sys.setrecursionlimit(4000)  # a body may be 512 deep
ORDER = ''.join(sorted('-_0123456789' + ''.join(chr(a + i) for a in (65, 97) for i in range(26))))
P, L, D = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493, -121665 * pow(121666, -1, 2**255 - 19)
def add(p, q):  # points as (X, Y, Z, T), 5.1.4
    a, b, c, d = (p[1] - p[0]) * (q[1] - q[0]), (p[1] + p[0]) * (q[1] + q[0]), 2 * p[3] * q[3] * D, 2 * p[2] * q[2]
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P
def times(n, p):
    q = (0, 1, 1, 0)
    while n: q, p, n = add(q, p) if n & 1 else q, add(p, p), n >> 1
    return q
def point(data):  # None where it is none, or not in its only encoding, 5.1.3
    y, odd = int.from_bytes(data, 'little') & (1 << 255) - 1, data[31] >> 7
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * pow(2, (P - 1) // 4, P) % P
    x = P - x if x & 1 != odd else x
    return (x, y, 1, x * y % P) if y < P and x < P and x * x % P == square else None
def holds(key, digest, signature):  # S < L, no point of small order, no cofactor
    if (len(key), len(signature)) != (32, 64) or not (a := point(key)) or not (r := point(signature[:32])): return False
    s, h = int.from_bytes(signature[32:], 'little'), int.from_bytes(hashlib.sha512(signature[:32] + key + digest).digest(), 'little') % L
    if s >= L or times(8, a)[0] == 0 or times(8, r)[0] == 0: return False
    one, other = times(s, point((4 * pow(5, -1, P) % P).to_bytes(32, 'little'))), add(r, times(h, a))
    return all((one[i] * other[2] - other[i] * one[2]) % P == 0 for i in (0, 1))
def number(value):  # as ECMAScript writes it
    if isinstance(value, int) or value == 0: return str(int(value))
    sign, digits, exponent = decimal.Decimal(repr(value)).normalize().as_tuple()
    d, dot = ''.join(map(str, digits)), len(digits) + exponent
    if 0 < dot <= 21: text = d.ljust(dot, '0') if len(d) <= dot else d[:dot] + '.' + d[dot:]
    else: text = '0.' + '0' * -dot + d if -6 < dot <= 0 else d[0] + '.' * (d[1:] != '') + d[1:] + 'e%+d' % (dot - 1)
    return '-' * sign + text
def canon(value):
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode('utf-16-be', 'surrogatepass'))
        return '{' + ','.join(canon(name) + ':' + canon(value[name]) for name in names) + '}'
    if isinstance(value, list): return '[' + ','.join(map(canon, value)) + ']'
    if isinstance(value, (int, float)) and not isinstance(value, bool): return number(value)
    return re.sub('[\ud800-\udfff]', lambda one: '\\u%04x' % ord(one[0]), json.dumps(value, ensure_ascii=False))
def expect(fact, what): fact or sys.exit('NOT PROVEN: ' + what)
def only(names, value): expect({*value} <= {*names.split()}, 'a member that nothing proves'); return value
def sha(data): return hashlib.sha256(data.encode() if isinstance(data, str) else data).digest()
def b64(data): return base64.b64encode(data).decode()
def raw(text): expect(b64(base64.b64decode(text)) == text, 'base64 as nobody writes it'); return base64.b64decode(text)
def iso(moment):  # as ECMAScript writes it; the calendar begins again after 400 years
    expect(-62167219200000 <= moment <= 8640000000000000, 'a moment that no calendar has')
    (cycles, days), rest = divmod(moment // 86400000 - 10957, 146097), moment % 86400000
    day, clock = datetime.date(2000, 1, 1) + datetime.timedelta(days), (rest // 3600000, rest // 60000 % 60, rest // 1000 % 60, rest % 1000)
    return ('%04d' if moment < 253402300800000 else '+%06d') % (day.year + 400 * cycles) + '-%02d-%02dT%02d:%02d:%02d.%03dZ' % (day.month, day.day, *clock)
def unpack(e, at=0):  # a MessagePack value, and where it ends
    code, at = e[at], at + 1
    if code < 0x80 or code >= 0xe0: return code - (code >= 0xe0) * 256, at
    if code >> 5 == 5 or code >> 4 == 9: size = code & (31 if code >> 5 == 5 else 15)
    elif code == 0xc0: return None, at
    else:
        wide = {0xc4: 1, 0xcb: 8, 0xd9: 1, 0xda: 2, 0xdb: 4, 0xdc: 2, 0xdd: 4}.get(code) or 1 << (code & 3)
        size, at = int.from_bytes(e[at:at + wide], 'big', signed=code in range(0xd0, 0xd4)), at + wide
        if code in (0xcb, *range(0xcc, 0xd4)): return size, at
    if code >> 4 != 9 and code not in (0xdc, 0xdd):
        return e[at:at + size] if code == 0xc4 else e[at:at + size].decode(), at + size
    values = []
    for _ in range(size): value, at = unpack(e, at); values.append(value)
    return values, at
def entry(e):  # what an entry of a record tells: as src/storage/codec.ts has them, in any version
    (luid, _, code, _, _, moment, *rest), _ = unpack(e)
    one, type, first = dict.fromkeys(('data', 'hash', 'seal', 'status', 'labels', 'thread', 'outcome')), (code - 1) % 8 + 1, code < 9
    expect(code < 25, 'an entry of a later format'); moment += 0 if first else sum(ORDER.index(c) * 64**(5 - i) for i, c in enumerate(luid[5:11])) * 1000
    def proof(key, result, custom):  # a key may be told by its place in the data, in UTF-16 units, a custom by its moment
        if isinstance(key, int): key = base64.b64decode(one['data'].encode('utf-16-le')[2 * key:2 * key + 88].decode('utf-16-le'))
        expect(not isinstance(custom, int) or moment + custom < 253402300800000, 'an entry as no server writes it')
        return key, result, createdCustom % iso(moment + custom) if isinstance(custom, int) else custom
    if type == 4: one.update(status=rest[2], labels=rest[3] if len(rest) > 3 else None)
    elif type != 6:
        if type == 5 and not first: rest.insert(0, sha(rest[0]))
        one.update(hash=rest[0], data=rest[1], seal=rest[3])
    if type == 5: one.update(thread=luid[5:] if rest[4] is None else rest[4], outcome=rest[5])
    if type == 6: one.update(outcome=rest[1])
    o, base = one['outcome'], 0 if first else moment
    if o: one['outcome'] = (base + o[0], (1, 2, 3), '', '', None) if len(o) in (2, 5) else (base + o[0], *o[1:4], o[6] if len(o) > 6 else None)
    expect(one['thread'] != '' and moment >= 0 and (o is None or base + o[0] >= 0), 'an entry as no server writes it')
    return dict(one, luid=luid, type=type, moment=moment, early=code < 17, proofs=[proof(*p) for p in (rest[1:2] if type == 4 else [] if type == 6 else rest[2])])
createdCustom = '{"moment":"%s","status":"created"}'
STATUSES = ('pending', 'prepared', 'committed', 'completed', 'failed', 'aborted', 'rejected', 'error')
def customs(luid, outcome, legs, early):  # what the server's proofs of an outcome say, since 0.3.0 of which intent too
    moment, steps, reason, detail, links = outcome
    for status in (STATUSES[step] for step in steps):
        custom = {'moment': iso(moment), 'status': status, **({} if early else {'luid': luid})}
        if status in ('failed', 'error'):
            custom.update(detail=detail, reason=reason)
            if links and links[6]: custom['failId'] = links[6]
            if links and links[7]: custom['handle'] = '%s_%s.%d' % (('deb', 'cre')[legs[links[7] - 1][0]], luid[5:], links[7] - 1)
        yield canon(custom)
def tell(entries):  # the versions that entries make, each as its meta, its data, and its proofs: key, signature if known, custom
    told, legs, first = [], [], entries[0]
    meta = {'status': 'active' if first['luid'][1:4] == 'eff' else 'created', 'owners': list(dict.fromkeys(b64(p[0]) for p in first['proofs']))}
    for each in entries:
        luid, type, moment, outcome = (each[name] for name in ('luid', 'type', 'moment', 'outcome'))
        expect((type in (1, 5)) == (each is first), 'a record that does not begin once')
        if type == 2 or type == 3 and luid[1:4] != 'csn': expect(json.loads(each['data'])['parent'].lower() == sha(told[-1][1]).hex(), 'a version that is left out')
        if type in (1, 2, 5):
            sealed = {'luid': luid, 'moment': iso(moment), **({} if type == 2 else {'status': 'pending' if type == 5 else 'created'})}
            meta = dict(meta, moment=iso(moment), **({'status': 'pending', 'thread': each['thread']} if type == 5 else {}))
            told.append([meta, each['data'], [*each['proofs'], (server, each['seal'], canon(sealed))]])
            if type == 5 and each['thread'] != luid[5:]: meta['routed'] = True
        elif type != 3: told[-1][2].extend(each['proofs'])  # those of a drop speak of the drop
        if each['status'] is not None: meta['status'] = each['status']
        if each['labels'] is not None: meta.pop('labels', 0), each['labels'] and meta.update(labels=each['labels'])
        if outcome:
            legs = legs or (outcome[4] and outcome[4][0]) or []
            if outcome[4] and (outcome[4][3] or outcome[4][4]): meta['routed'] = True
            meta['status'] = [meta['status'], *(STATUSES[step] for step in outcome[1] if step not in (4, 7))][-1]
            told[-1][2].extend((server, None, custom) for custom in customs(luid, outcome, legs, each['early']))
    return told
def check(envelope, what):  # hash, digests, signatures; gives (key, signature, custom) of each proof
    digest, proofs = sha(canon(envelope['data'])).hex(), []
    expect(envelope['hash'] == digest, what + ': its hash is not that of its data')
    for each in envelope['meta']['proofs']:
        key, result, custom = raw(each['public']), raw(each['result']), canon(each['custom']) if 'custom' in each else None
        signed = sha(digest + (custom or ''))
        expect((each['digest'], each['method']) == (signed.hex(), 'ed25519-v2'), what + ': a digest of something else')
        expect({*each} <= {'custom', 'digest', 'method', 'public', 'result'}, what + ': a member of a proof that is not signed')
        expect(holds(key, signed, result), what + ': a signature does not hold')
        proofs.append((key, result, custom))
    expect(any(key == server for key, _, _ in proofs), what + ': the server has not signed it')
    return proofs

if len(sys.argv) != 3: sys.exit(__doc__)
# Whatever no rule below foresees is no story either; the one who asked is told so, and not where in here it broke.
sys.excepthook = lambda kind, error, _: print('NOT PROVEN: no story as `ayni export` writes it:', kind.__name__, error, file=sys.stderr)
expect(re.fullmatch('[A-Za-z0-9+/]{43}=', sys.argv[2]), 'the key must be the base64 of 32 bytes')
def once(members): expect(len(dict(members)) == len(members), 'a member that is there twice'); return dict(members)
def exact(text): expect(decimal.Decimal(text) == decimal.Decimal(repr(float(text))), 'a number that readers take for different ones'); return float(text)
story, server = json.load(open(sys.argv[1], encoding='utf-8'), object_pairs_hook=once, parse_float=exact), raw(sys.argv[2])
record, head, chain, lines = (only('format server record versions entries chain head', story)[name] for name in ('record', 'head', 'chain', 'entries'))
expect(story['format'] in ('ayni-story-1', 'ayni-story-2', 'ayni-story-3'), 'it is of another format'), expect(raw(story['server']) == server, 'it is of another server')
entries = [raw(only('bytes seq', line)['bytes']) for line in lines]
expect(all(one['seq'] < next['seq'] for one, next in zip(lines, lines[1:])), 'entries that are not in order')
read = [entry(e) for e in entries]
expect(all(each['luid'] == record['luid'] for each in read), 'an entry of another record')
versions, told, shown = story['versions'] + [record], tell(read), 0
expect(len(versions) == len(told), 'more or fewer versions than the journal has')
for version, (meta, data, proofs) in zip(versions, told):
    got = check(only('data hash luid meta', version), 'the record')
    expect((version['luid'], canon(version['data'])) == (record['luid'], data), 'a version that no entry holds')
    shows, tells = canon({**version['meta'], 'proofs': []}), canon({**meta, 'proofs': []})
    expect(shows == tells, 'the record shows ' + ascii(shows) + ', and the journal tells ' + ascii(tells))  # none clears a screen
    same = len(got) == len(proofs) and all((g[0], g[2]) == (p[0], p[2]) and p[1] in (None, g[1]) for g, p in zip(got, proofs))
    expect(same, 'other proofs than the journal tells of')
    shown += len(got)
expect([custom for *_, custom in check(only('data hash meta', head), 'the head')] == [canon({'moment': only('moment proofs', head['meta'])['moment']})], 'a moment of the head that is not signed')
if chain is None: sys.exit(print('Proven is each signature, and what it says; not the state of the record: the frames of its first entries are gone') or 2)
before, seq, digests = bytes.fromhex(only('before frames', chain)['before']), None, {}
for item in chain['frames']:
    hashes = b'' if isinstance(item, str) else bytes.fromhex(''.join(only('head entries', item)['entries']))
    run = bytes.fromhex(item['head']) + sha(hashes) if hashes else raw(item)
    for link in (run[at:at + 99] for at in range(0, len(run), 99)):  # 67 bytes of head, SHA-256 of its entries' hashes
        first, count, moment = (int.from_bytes(link[a:b], 'big') for a, b in ((11, 19), (20, 24), (25, 33)))
        expect(link[35:67] == before and seq in (None, first - 1) and 0 < count <= 2**53 - first, 'a frame does not continue the one before it')
        before, seq = sha(link), first + count - 1
    digests.update((first + at // 32, hashes[at:at + 32]) for at in range(0, len(hashes), 32))  # as signed, not as cut in the file
expect(all(digests.get(line['seq']) == sha(e) for line, e in zip(lines, entries)), 'an entry is not in its frame')
expect(head['data'] == {'chain': before.hex(), 'seq': seq, 'moment': iso(moment)}, 'the chain does not end in the head')
print(f'Proven: {record["luid"] + ", dropped" * (read[-1]["type"] == 3)}: {len(entries)} entries, {shown} proofs; in the chain up to entry {seq}')
