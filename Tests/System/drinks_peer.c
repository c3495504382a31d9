/* The peer of `waterh-replay drinks --json` in the benchmark: a plain C program that does the same for one kind of file and no more.
 *
 * usage: drinks_peer FILE      a btsnoop file of HCI H4 packets, one bottle, each packet an L2CAP frame of its own
 *
 * Reads the packets, finds the response characteristic (FFE4) by its discovery, puts the log's dumps together, passes over what was there before, and
 * prints each drink as a line of JSON. What the command can do beside that (other formats, fragments, damage, several bottles, lost parts) is left out.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORD = 13, MOST_BODY = 1 << 16, LOG = 6 };

static char bottle[18] = "00:00:00:00:00:00";
static uint16_t response;

/* The dump that is under way: its bytes, and for each notification where it ended and when it came. */
static uint8_t body[MOST_BODY];
static size_t have, wanted;
static struct { size_t end; uint64_t frame; int64_t time; } parts[MOST_BODY];
static size_t count;

/* The drinks that are known: an open table of eight bytes each, 0 is nothing. */
static uint64_t *known;
static size_t places, used;

static char output[1 << 16];
static size_t filled;

static void flush(void) {
    if (fwrite(output, 1, filled, stdout) != filled) exit(1);
    filled = 0;
}

static size_t place(const uint64_t *table, size_t size, uint64_t key) {
    uint64_t hash = (key ^ key >> 29) * 0x9E3779B97F4A7C15u;
    size_t at = (size_t)(hash >> 32) & (size - 1);
    while (table[at] && table[at] != key) at = (at + 1) & (size - 1);
    return at;
}

static int is_new(uint64_t key) {
    if (used * 2 >= places) {
        size_t size = places ? places * 2 : 4096;
        uint64_t *larger = calloc(size, sizeof *larger);
        if (!larger) exit(1);
        for (size_t at = 0; at < places; at++)
            if (known[at]) larger[place(larger, size, known[at])] = known[at];
        free(known);
        known = larger, places = size;
    }
    size_t at = place(known, places, key);
    if (known[at]) return 0;
    known[at] = key;
    used++;
    return 1;
}

static void text(const char *words) {
    size_t length = strlen(words);
    memcpy(output + filled, words, length);
    filled += length;
}

static void digits(uint64_t value, int width) {
    char made[20];
    int length = 0;
    do made[length++] = (char)('0' + value % 10); while (value /= 10);
    while (length < width) made[length++] = '0';
    while (length) output[filled++] = made[--length];
}

/* The date of days since 1970 (Gregorian, by eras of 400 years). */
static void date(int64_t days) {
    days += 719468;
    int64_t era = days / 146097, in_era = days % 146097;
    int64_t year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int64_t in_year = in_era - (365 * year + year / 4 - year / 100), month = (5 * in_year + 2) / 153;
    digits((uint64_t)(era * 400 + year + (month >= 10)), 4);
    output[filled++] = '-';
    digits((uint64_t)(month < 10 ? month + 3 : month - 9), 2);
    output[filled++] = '-';
    digits((uint64_t)(in_year - (153 * month + 2) / 5 + 1), 2);
}

static void clock_time(int64_t seconds) {
    digits((uint64_t)(seconds / 3600), 2);
    output[filled++] = ':';
    digits((uint64_t)(seconds / 60 % 60), 2);
    output[filled++] = ':';
    digits((uint64_t)(seconds % 60), 2);
}

static void print(const uint8_t *record, uint64_t frame, int64_t time) {
    static const uint8_t days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = 2000 + record[0], month = record[1], day = record[2], hour = record[3], minute = record[4], second = record[5];
    int possible = month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1] && hour < 24 && minute < 60 && second < 60;
    if (filled + 512 > sizeof output) flush();
    text("{\"bottle\":\"");
    text(bottle);
    text("\",\"at\":");
    if (possible) {
        output[filled++] = '"';
        digits((uint64_t)year, 4);
        output[filled++] = '-';
        digits((uint64_t)month, 2);
        output[filled++] = '-';
        digits((uint64_t)day, 2);
        output[filled++] = 'T';
        clock_time((hour * 60 + minute) * 60 + second);
        output[filled++] = '"';
    } else text("null");
    text(",\"amountMl\":");
    digits((uint64_t)record[6] << 8 | record[7], 1);
    text(",\"flag\":");
    digits(record[12], 1);
    text(possible && year >= 2015 && year <= 2099 ? ",\"suspect\":false" : ",\"suspect\":true");
    text(",\"tdsPpm\":null,\"temperatureC\":null,\"batteryPercent\":null,\"raw\":\"");
    for (int at = 0; at < RECORD; at++) {
        output[filled++] = "0123456789abcdef"[record[at] >> 4];
        output[filled++] = "0123456789abcdef"[record[at] & 15];
    }
    text("\",\"frame\":");
    digits(frame, 1);
    text(",\"capturedAt\":\"");
    int64_t seconds = time / 1000000;
    date(seconds / 86400);
    output[filled++] = 'T';
    clock_time(seconds % 86400);
    output[filled++] = '.';
    digits((uint64_t)(time / 1000 % 1000), 3);
    text("Z\"}\n");
}

/* A whole dump: entries of a length, a kind and records. */
static void dump(void) {
    size_t part = 0;
    for (size_t at = 0; at + 2 <= have;) {
        size_t end = at + 1 + body[at];
        if (end > have) return;
        for (size_t record = at + 2; body[at + 1] == LOG && record + RECORD <= end; record += RECORD) {
            uint64_t key = 0;
            for (int byte = 0; byte < 8; byte++) key = key << 8 | body[record + byte];
            while (parts[part].end < record + RECORD) part++;
            if (body[record + 12] == 0 && is_new(key)) print(body + record, parts[part].frame, parts[part].time);
        }
        at = end;
    }
}

static void notified(const uint8_t *value, size_t length, uint64_t frame, int64_t time) {
    if (length >= 4 && value[0] == 'P' && value[1] == 'T') {
        have = count = 0;
        wanted = (size_t)value[2] << 8 | value[3];
        value += 4, length -= 4;
    }
    if (!wanted) return;
    if (length > wanted - have) length = wanted - have;
    memcpy(body + have, value, length);
    have += length;
    parts[count].end = have, parts[count].frame = frame, parts[count++].time = time;
    if (have < wanted) return;
    dump();
    wanted = 0;
}

static uint32_t big(const uint8_t *bytes) { return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3]; }
static uint16_t little(const uint8_t *bytes) { return (uint16_t)(bytes[0] | bytes[1] << 8); }

static void packet(const uint8_t *bytes, size_t length, uint64_t frame, int64_t time) {
    if (length >= 15 && bytes[0] == 4 && bytes[1] == 0x3E && bytes[3] == 1) /* LE Connection Complete */
        snprintf(bottle, sizeof bottle, "%02X:%02X:%02X:%02X:%02X:%02X", bytes[14], bytes[13], bytes[12], bytes[11], bytes[10], bytes[9]);
    if (length < 10 || bytes[0] != 2 || little(bytes + 7) != 4) return; /* ACL, the channel of ATT */
    const uint8_t *pdu = bytes + 9;
    size_t size = length - 9;
    if (pdu[0] == 0x1B && size >= 3 && little(pdu + 1) == response) notified(pdu + 3, size - 3, frame, time);
    if (pdu[0] == 0x09 && size >= 2 && pdu[1] == 7) /* characteristics with UUIDs of 16 bits */
        for (size_t at = 2; at + 7 <= size; at += 7)
            if (little(pdu + at + 5) == 0xFFE4) response = little(pdu + at + 3);
}

int main(int argc, char **argv) {
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    uint8_t head[24];
    static uint8_t bytes[1 << 16];
    if (!file) return fputs("usage: drinks_peer FILE\n", stderr), 2;
    setvbuf(file, NULL, _IOFBF, 1 << 18);
    if (fread(head, 1, 16, file) != 16 || memcmp(head, "btsnoop", 8)) return fputs("drinks_peer: this is no btsnoop file\n", stderr), 4;
    for (uint64_t frame = 1; fread(head, 1, 24, file) == 24; frame++) {
        uint32_t length = big(head + 4);
        if (length > sizeof bytes || fread(bytes, 1, length, file) != length) return fputs("drinks_peer: the file is cut\n", stderr), 4;
        /* Microseconds since the year 0. */
        packet(bytes, length, frame, (int64_t)((uint64_t)big(head + 16) << 32 | big(head + 20)) - 0x00DCDDB30F2F8000);
    }
    flush();
    return 0;
}
