@testable import HTTPAPI
import NIOCore
import Testing

/// Bodies are hostile until taken apart.
@Suite struct FieldsTests {
    @Test func everyCutOfABodyIsRefused() throws {
        let body = #"{"ml": 250, "at": "14:00", "list": [1, "two", true], "no": null}"#
        for end in 1..<body.utf8.count {
            #expect(throws: HTTPProblem.self) { try Fields(ByteBuffer(string: String(body.prefix(end)))) }
        }
        var fields = try Fields(ByteBuffer(string: body))
        #expect(try fields.whole("ml") == 250 && fields.text("at") == "14:00" && fields.texts("list") == ["1", "two", "true"] && fields.flag("no") == nil)
        try fields.finish()
    }

    @Test(arguments: ["{\"a\":\(String(repeating: "[", count: 5000))", "{\"a\": [[1]]}", "{\"a\": {\"b\": 1}}", "\"text\"", "[]", "nul", "{\"a\": \u{1}}"])
    func whatIsNotAnObjectOfPlainValuesIsRefused(body: String) {
        #expect(throws: HTTPProblem.self) { try Fields(ByteBuffer(string: body)) }
    }
}
