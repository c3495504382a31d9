import CommandSupport
import CReport
import Utilities

/// The HTML page of a report: style, data and script in one file without external resources.
///
/// All data of the capture is in one JSON data block, in which no character can end the block. The script inserts it as
/// text and never as markup. The page's content security policy blocks other scripts and all loading.
struct ReportPage {
    let contents: [ReportJSON]
    /// The nonce of the security policy, unpredictable letters and digits.
    let nonce: String

    var bytes: [UInt8] {
        let policy =
            """
            default-src 'none'; style-src 'nonce-\(nonce)'; script-src 'nonce-\(nonce)'; base-uri 'none'; \
            form-action 'none'
            """
        let title = Escaping.markup("\(contents.map(\.name).joined(separator: " and ")): capture report")
        let page = """
            <!doctype html>
            <html lang="en">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <meta name="referrer" content="no-referrer">
            <meta http-equiv="Content-Security-Policy" content="\(policy)">
            <title>\(title)</title>
            <style nonce="\(nonce)">
            \(Self.part(waterh_report_style()))</style>
            <body><noscript>This report requires JavaScript; all of it is in this file.</noscript>
            <main id="report"></main>
            <script type="application/json" id="data">\(data)</script>
            <script nonce="\(nonce)">
            \(Self.part(waterh_report_script()))</script>
            </body>
            </html>

            """
        return Array(page.utf8)
    }

    /// The data block. `<`, `>` and `&` are JSON escapes, so that no character can end the script element.
    private var data: String {
        var bytes: [UInt8] = []
        for byte in JSONValue.array(contents.map(\.json)).text.utf8 {
            switch byte {
            case UInt8(ascii: "<"): bytes += "\\u003c".utf8
            case UInt8(ascii: ">"): bytes += "\\u003e".utf8
            case UInt8(ascii: "&"): bytes += "\\u0026".utf8
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func part(_ part: waterh_report_part) -> String {
        String(decoding: UnsafeBufferPointer(start: part.bytes, count: Int(part.length)), as: UTF8.self)
    }
}
