import TrackerCore
import Utilities

/// A page to embed: an image, lines of text, and buttons that log. Without scripts: a button posts to the page's URL,
/// which contains the token, and the page reloads every minute.
struct WidgetPage {
    enum Button: String, CaseIterable {
        case cup, drink, water, start
    }

    var svg: String
    var lines: [String]
    var buttons: [(Button, String)]
    /// The idempotency key of this rendering: a button that is pressed twice logs once.
    var key: String

    var html: String {
        let lines = lines.map { "<p>\(Escaping.markup($0))</p>" }.joined()
        let buttons = buttons.map { button, label in
            "<button name=\"press\" value=\"\(button.rawValue)\">\(Escaping.markup(label))</button>"
        }.joined()
        return """
            <!doctype html>
            <html lang="en"><head><meta charset="utf-8"><title>Hydration</title>
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark"><meta name="referrer" content="same-origin">
            <style>
            body{margin:8px;font:16px system-ui,sans-serif;text-align:center;color:#1A1A2E}
            h1{position:absolute;margin:0;clip-path:inset(50%)}svg{max-width:100%;height:auto}p{margin:4px}
            form{display:flex;flex-wrap:wrap;gap:8px;justify-content:center;margin-top:8px}
            button{flex:1;max-width:10rem;padding:0 4px;white-space:nowrap;min-height:44px;border:0;border-radius:14px;\
            font:inherit;font-weight:600;background:#1565C0;color:#fff}
            @media (prefers-color-scheme:dark){body{color:#EAF2FA}button{background:#64B5F6;color:#06131F}}
            </style></head>
            <body><main><h1>Hydration</h1>\(svg)\(lines)<form method="post">\
            <input type="hidden" name="key" value="\(key)">\(buttons)</form></main></body></html>
            """
    }
}
