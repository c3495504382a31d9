#include "report.h"

// clang 19 and later support C23's #embed in every mode.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char style[] = {
#embed "pages/report.css"
};
static const unsigned char script[] = {
#embed "pages/report.js"
};
static const unsigned char dissector[] = {
#embed "pages/waterh.lua"
};

struct waterh_report_part waterh_report_style(void) { return (struct waterh_report_part){style, sizeof style}; }
struct waterh_report_part waterh_report_script(void) { return (struct waterh_report_part){script, sizeof script}; }
struct waterh_report_part waterh_dissector(void) { return (struct waterh_report_part){dissector, sizeof dissector}; }
