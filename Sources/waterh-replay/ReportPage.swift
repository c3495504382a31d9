import CommandSupport
import CReport
import Utilities

/// The HTML page of a report: style, data and script in one file without external resources.
///
/// All data of the capture is in one JSON data block, in which no character can end the block. The script inserts it as
/// text and never as markup. The page's content security policy blocks other scripts and all loading.
struct ReportPage {
    private let contents: [ReportJSON]
    private let nonce: String

    /// - Parameter nonce: the nonce of the security policy, unpredictable letters and digits.
    init(_ contents: [ReportJSON], nonce: String) {
        self.contents = contents
        self.nonce = nonce
    }

    var bytes: [UInt8] {
        let policy =
            """
            default-src 'none'; style-src 'nonce-\(nonce)'; script-src 'nonce-\(nonce)'; base-uri 'none'; \
            form-action 'none'
            """
        var page = Array(
            """
            <!doctype html>
            <html lang="en">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <meta name="referrer" content="no-referrer">
            <meta http-equiv="Content-Security-Policy" content="\(policy)">
            <title>\(Self.escaped("\(contents.map(\.name).joined(separator: " and ")): capture report"))</title>
            <style nonce="\(nonce)">

            """.utf8)
        page += Self.part(waterh_report_style())
        page += Array(
            """
            </style>\n<body><noscript>This report requires JavaScript; all of it is in this \
            file.</noscript>\n<main id=\"report\"></main>\n
            """
            .utf8)
        page += Array("<script type=\"application/json\" id=\"data\">".utf8)
        page += Self.scriptSafe(JSONValue.array(contents.map(\.json)).text)
        page += Array("</script>\n<script nonce=\"\(nonce)\">\n".utf8)
        page += Self.part(waterh_report_script())
        page += Array("</script>\n</body>\n</html>\n".utf8)
        return page
    }

    static func part(_ part: waterh_report_part) -> [UInt8] {
        Array(UnsafeBufferPointer(start: part.bytes, count: Int(part.length)))
    }

    /// The JSON with `<`, `>` and `&` as JSON escapes, so that it cannot end the script element.
    static func scriptSafe(_ json: String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(json.utf8.count + 64)
        for byte in json.utf8 {
            switch byte {
            case UInt8(ascii: "<"): bytes += "\\u003c".utf8
            case UInt8(ascii: ">"): bytes += "\\u003e".utf8
            case UInt8(ascii: "&"): bytes += "\\u0026".utf8
            default: bytes.append(byte)
            }
        }
        return bytes
    }

    static func escaped(_ text: String) -> String { Escaping.markup(text) }
}
