#include "dashboard.h"

// clang 19 and later support C23's #embed in every mode.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char account_js[] = {
#embed "pages/account.js"
};
static const unsigned char api_js[] = {
#embed "pages/api.js"
};
static const unsigned char app_js[] = {
#embed "pages/app.js"
};
static const unsigned char app_webmanifest[] = {
#embed "pages/app.webmanifest"
};
static const unsigned char base_css[] = {
#embed "pages/base.css"
};
static const unsigned char bottle_line_js[] = {
#embed "pages/bottle-line.js"
};
static const unsigned char bottle_js[] = {
#embed "pages/bottle.js"
};
static const unsigned char bottles_js[] = {
#embed "pages/bottles.js"
};
static const unsigned char commands_js[] = {
#embed "pages/commands.js"
};
static const unsigned char confetti_js[] = {
#embed "pages/confetti.js"
};
static const unsigned char device_js[] = {
#embed "pages/device.js"
};
static const unsigned char dom_js[] = {
#embed "pages/dom.js"
};
static const unsigned char drinks_js[] = {
#embed "pages/drinks.js"
};
static const unsigned char format_js[] = {
#embed "pages/format.js"
};
static const unsigned char gauge_js[] = {
#embed "pages/gauge.js"
};
static const unsigned char goal_form_js[] = {
#embed "pages/goal-form.js"
};
static const unsigned char halo_js[] = {
#embed "pages/halo.js"
};
static const unsigned char history_js[] = {
#embed "pages/history.js"
};
static const unsigned char home_js[] = {
#embed "pages/home.js"
};
static const unsigned char icon_svg[] = {
#embed "pages/icon.svg"
};
static const unsigned char index_html[] = {
#embed "pages/index.html"
};
static const unsigned char kept_polls_js[] = {
#embed "pages/kept-polls.js"
};
static const unsigned char litres_js[] = {
#embed "pages/litres.js"
};
static const unsigned char live_js[] = {
#embed "pages/live.js"
};
static const unsigned char memory_js[] = {
#embed "pages/memory.js"
};
static const unsigned char month_js[] = {
#embed "pages/month.js"
};
static const unsigned char next_drink_js[] = {
#embed "pages/next-drink.js"
};
static const unsigned char notices_js[] = {
#embed "pages/notices.js"
};
static const unsigned char notification_test_js[] = {
#embed "pages/notification-test.js"
};
static const unsigned char openapi_json[] = {
#embed "pages/openapi.json"
};
static const unsigned char pages_css[] = {
#embed "pages/pages.css"
};
static const unsigned char presets_js[] = {
#embed "pages/presets.js"
};
static const unsigned char queue_js[] = {
#embed "pages/queue.js"
};
static const unsigned char refusals_de_js[] = {
#embed "pages/refusals-de.js"
};
static const unsigned char refused_js[] = {
#embed "pages/refused.js"
};
static const unsigned char session_actions_js[] = {
#embed "pages/session-actions.js"
};
static const unsigned char setting_row_js[] = {
#embed "pages/setting-row.js"
};
static const unsigned char settings_js[] = {
#embed "pages/settings.js"
};
static const unsigned char sign_in_html[] = {
#embed "pages/sign-in.html"
};
static const unsigned char sign_in_js[] = {
#embed "pages/sign-in.js"
};
static const unsigned char status_js[] = {
#embed "pages/status.js"
};
static const unsigned char summary_js[] = {
#embed "pages/summary.js"
};
static const unsigned char sw_js[] = {
#embed "pages/sw.js"
};
static const unsigned char texts_de_js[] = {
#embed "pages/texts-de.js"
};
static const unsigned char texts_en_js[] = {
#embed "pages/texts-en.js"
};
static const unsigned char texts_js[] = {
#embed "pages/texts.js"
};
static const unsigned char theme_js[] = {
#embed "pages/theme.js"
};
static const unsigned char timeline_js[] = {
#embed "pages/timeline.js"
};
static const unsigned char today_css[] = {
#embed "pages/today.css"
};
static const unsigned char today_js[] = {
#embed "pages/today.js"
};
static const unsigned char tokens_js[] = {
#embed "pages/tokens.js"
};
static const unsigned char ui_js[] = {
#embed "pages/ui.js"
};
static const unsigned char vessel_js[] = {
#embed "pages/vessel.js"
};
static const unsigned char watch_css[] = {
#embed "pages/watch.css"
};
static const unsigned char watch_html[] = {
#embed "pages/watch.html"
};
static const unsigned char watch_js[] = {
#embed "pages/watch.js"
};
static const unsigned char waterline_js[] = {
#embed "pages/waterline.js"
};
static const unsigned char week_js[] = {
#embed "pages/week.js"
};
static const unsigned char welcome_js[] = {
#embed "pages/welcome.js"
};
static const unsigned char why_js[] = {
#embed "pages/why.js"
};
static const unsigned char year_js[] = {
#embed "pages/year.js"
};

// Every file of `pages/`, sorted by name; a test compares the list with the directory.
static const struct waterh_page pages[] = {
    {"account.js", account_js, sizeof account_js},
    {"api.js", api_js, sizeof api_js},
    {"app.js", app_js, sizeof app_js},
    {"app.webmanifest", app_webmanifest, sizeof app_webmanifest},
    {"base.css", base_css, sizeof base_css},
    {"bottle-line.js", bottle_line_js, sizeof bottle_line_js},
    {"bottle.js", bottle_js, sizeof bottle_js},
    {"bottles.js", bottles_js, sizeof bottles_js},
    {"commands.js", commands_js, sizeof commands_js},
    {"confetti.js", confetti_js, sizeof confetti_js},
    {"device.js", device_js, sizeof device_js},
    {"dom.js", dom_js, sizeof dom_js},
    {"drinks.js", drinks_js, sizeof drinks_js},
    {"format.js", format_js, sizeof format_js},
    {"gauge.js", gauge_js, sizeof gauge_js},
    {"goal-form.js", goal_form_js, sizeof goal_form_js},
    {"halo.js", halo_js, sizeof halo_js},
    {"history.js", history_js, sizeof history_js},
    {"home.js", home_js, sizeof home_js},
    {"icon.svg", icon_svg, sizeof icon_svg},
    {"index.html", index_html, sizeof index_html},
    {"kept-polls.js", kept_polls_js, sizeof kept_polls_js},
    {"litres.js", litres_js, sizeof litres_js},
    {"live.js", live_js, sizeof live_js},
    {"memory.js", memory_js, sizeof memory_js},
    {"month.js", month_js, sizeof month_js},
    {"next-drink.js", next_drink_js, sizeof next_drink_js},
    {"notices.js", notices_js, sizeof notices_js},
    {"notification-test.js", notification_test_js, sizeof notification_test_js},
    {"openapi.json", openapi_json, sizeof openapi_json},
    {"pages.css", pages_css, sizeof pages_css},
    {"presets.js", presets_js, sizeof presets_js},
    {"queue.js", queue_js, sizeof queue_js},
    {"refusals-de.js", refusals_de_js, sizeof refusals_de_js},
    {"refused.js", refused_js, sizeof refused_js},
    {"session-actions.js", session_actions_js, sizeof session_actions_js},
    {"setting-row.js", setting_row_js, sizeof setting_row_js},
    {"settings.js", settings_js, sizeof settings_js},
    {"sign-in.html", sign_in_html, sizeof sign_in_html},
    {"sign-in.js", sign_in_js, sizeof sign_in_js},
    {"status.js", status_js, sizeof status_js},
    {"summary.js", summary_js, sizeof summary_js},
    {"sw.js", sw_js, sizeof sw_js},
    {"texts-de.js", texts_de_js, sizeof texts_de_js},
    {"texts-en.js", texts_en_js, sizeof texts_en_js},
    {"texts.js", texts_js, sizeof texts_js},
    {"theme.js", theme_js, sizeof theme_js},
    {"timeline.js", timeline_js, sizeof timeline_js},
    {"today.css", today_css, sizeof today_css},
    {"today.js", today_js, sizeof today_js},
    {"tokens.js", tokens_js, sizeof tokens_js},
    {"ui.js", ui_js, sizeof ui_js},
    {"vessel.js", vessel_js, sizeof vessel_js},
    {"watch.css", watch_css, sizeof watch_css},
    {"watch.html", watch_html, sizeof watch_html},
    {"watch.js", watch_js, sizeof watch_js},
    {"waterline.js", waterline_js, sizeof waterline_js},
    {"week.js", week_js, sizeof week_js},
    {"welcome.js", welcome_js, sizeof welcome_js},
    {"why.js", why_js, sizeof why_js},
    {"year.js", year_js, sizeof year_js},
};

const unsigned long waterh_page_count = sizeof pages / sizeof *pages;

struct waterh_page waterh_pages(unsigned long index) { return pages[index]; }
