@testable import WebServer
import NIOCore
import Testing
import TrackerService

@Suite struct FieldsTests {
    @Test func `a body truncated at any byte is rejected`() throws {
        let body = #"{"ml": 250, "at": "14:00", "list": [1, "two", true], "no": false}"#
        for end in 1..<body.utf8.count {
            #expect(throws: (any Error).self) { try Fields(ByteBuffer(string: String(body.prefix(end)))) }
        }
        var fields = try Fields(ByteBuffer(string: body))
        #expect(
            try fields.whole("ml") == 250 && fields.text("at") == "14:00"
                && fields.texts("list") == ["1", "two", "true"] && fields.flag("no") == false)
        try fields.finish()
    }

    /// A client that sends `{"oz": null}` to delete a value must get an error.
    @Test func `null is not a value of a field`() throws {
        var fields = try Fields(
            ByteBuffer(
                string: #"{"text": null, "number": null, "whole": null, "flag": null, "word": null, "list": null}"#))
        #expect(throws: (any Error).self) { try fields.text("text") }
        #expect(throws: (any Error).self) { try fields.number("number") }
        #expect(throws: (any Error).self) { try fields.whole("whole") }
        #expect(throws: (any Error).self) { try fields.flag("flag") }
        #expect(throws: (any Error).self) { try fields.word("word") }
        #expect(try fields.texts("list") == nil, "described as one that may be null")
    }

    @Test(arguments: [
        "{\"a\":\(String(repeating: "[", count: 5000))", "{\"a\": [[1]]}", "{\"a\": {\"b\": 1}}", "\"text\"", "[]",
        "nul", "{\"a\": \u{1}}",
    ])
    func `a body that is not an object of plain values is rejected`(body: String) {
        #expect(throws: (any Error).self) { try Fields(ByteBuffer(string: body)) }
    }
}
