// The files of `pages/` as data: style and script of a capture report, and the Wireshark dissector.
#ifndef WATERH_REPORT_H
#define WATERH_REPORT_H

struct waterh_report_part {
    const unsigned char *bytes;
    unsigned long length;
};

struct waterh_report_part waterh_report_style(void);
struct waterh_report_part waterh_report_script(void);
struct waterh_report_part waterh_dissector(void);

#endif
