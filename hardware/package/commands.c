/* The commands as one program: it is the one whose name it is called by. Each of them alone would bring the Swift runtime along again,
 * which is most of its size. The compiler calls the entry of a command NAME_main. */
#include <stdio.h>
#include <string.h>

#define COMMANDS(each) each(emulator) each(gateway) each(replay) each(tracker)
#define DECLARED(name) extern int waterh_##name##_main(int, char **);
#define CALLED(name) if (strcmp(called, "waterh-" #name) == 0) return waterh_##name##_main(count, words);

COMMANDS(DECLARED)

int main(int count, char **words) {
    const char *called = count > 0 ? words[0] : "", *slash = strrchr(called, '/');
    if (slash) called = slash + 1;
    COMMANDS(CALLED)
    fprintf(stderr, "This program is waterh-emulator, waterh-gateway, waterh-replay or waterh-tracker: call it by one of these names, not '%s'.\n", called);
    return 2;
}
