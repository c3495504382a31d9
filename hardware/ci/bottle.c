/* Test with a bottle, in C: adds a drink of 250 ml and reads it over ATT. Needs no Bluetooth.
 * cc -Wall -o bottle bottle.c && ./bottle [waterh-emulator]      exit code 0: the drink arrived */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static int open_socket(const char *folder, const char *name, int type) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", folder, name);
    int end = socket(AF_UNIX, type, 0);
    assert(connect(end, (struct sockaddr *)&address, sizeof address) == 0);
    return end;
}
/* Returns the next notification, or the next PDU of another type. */
static ssize_t next(int att, unsigned char *pdu, int notification) {
    ssize_t size;
    do assert((size = recv(att, pdu, 1024, 0)) > 0); while ((pdu[0] == 0x1b) != notification);
    return size;
}

int main(int count, char **arguments) {
    char folder[] = "/tmp/bottle-XXXXXX", line[4096];
    unsigned char pdu[1024], frame[4096];
    assert(mkdtemp(folder));
    snprintf(line, sizeof line, "%s run --profile retail --link unix:%s/link --control unix:%s/control & echo $!; wait $!",
        count > 1 ? arguments[1] : "waterh-emulator", folder, folder);
    FILE *bottle = popen(line, "r");
    int process = atoi(fgets(line, sizeof line, bottle));
    assert(fgets(line, sizeof line, bottle) && strncmp(line, "ready ", 6) == 0);

    FILE *control = fdopen(open_socket(folder, "control", SOCK_STREAM), "r+"); /* One JSON object per line in each direction. */
    fputs("{\"do\":\"sip\",\"value\":250}\n", control), fflush(control);
    assert(fgets(line, sizeof line, control) && strstr(line, "\"ok\":true"));

    int att = open_socket(folder, "link", SOCK_SEQPACKET), command = 0, response = 0; /* One ATT PDU per message in each direction. */
    send(att, "\x02\x05\x02", 3, 0), next(att, pdu, 0); /* Exchange MTU: 517 */
    for (int first = 1;;) { /* Read By Type: characteristics */
        send(att, (unsigned char[]) { 8, first & 255, first >> 8, 255, 255, 3, 0x28 }, 7, 0);
        ssize_t size = next(att, pdu, 0);
        if (pdu[0] != 9) break;
        for (int at = 2; at < size; first = pdu[at] + pdu[at + 1] * 256 + 1, at += pdu[1]) {
            int handle = pdu[at + 3] + pdu[at + 4] * 256, kind = pdu[at + 5] + pdu[at + 6] * 256;
            if (pdu[1] == 7) *(kind == 0xffe9 ? &command : kind == 0xffe4 ? &response : &(int) { 0 }) = handle;
        }
    }
    response++; /* Subscribe: the descriptor after the value */
    send(att, (unsigned char[]) { 0x12, response & 255, response >> 8, 1, 0 }, 5, 0), next(att, pdu, 0);
    send(att, (unsigned char[]) { 0x52, command & 255, command >> 8, 'G', 'T', 0, 1, 6 }, 8, 0); /* Requests the log. */
    for (size_t have = 0; have < 4 || have < 4u + frame[2] * 256 + frame[3];) {
        ssize_t size = next(att, pdu, 1) - 3;
        if (have || (pdu[3] == 'P' && pdu[4] == 'T')) memcpy(frame + have, pdu + 3, size), have += size;
    }
    assert(frame[12] * 256 + frame[13] == 250);
    return puts("250 ml received"), kill(process, SIGTERM), pclose(bottle) != 0;
}
