// The style and the script of a capture's report as they stand in `pages/`, byte for byte, inside the program.
#ifndef WATERH_REPORT_H
#define WATERH_REPORT_H

struct waterh_report_part {
    const unsigned char *bytes;
    unsigned long length;
};

struct waterh_report_part waterh_report_style(void);
struct waterh_report_part waterh_report_script(void);

#endif
