import Foundation
@testable import HomeAssistant
import Store
import Support
import Testing
import TrackerCore
import TrackerService
import TrackerSupport

@Suite struct WireTests {
    @Test(
        arguments: [
            ("h/cmd/log", "log"), ("h/cmd/bottle-reminder", "bottle-reminder"), ("h/cmd/", nil), ("h/cmd", nil),
            ("h/cmd/log/more", nil), ("h/cmd/LOG", nil), ("x/cmd/log", nil),
            ("h/cmd/" + String(repeating: "a", count: 41), nil), ("h/cmd/l\u{e9}g", nil), ("h/response/log", nil),
        ] as [(String, String?)])
    func `command names are parsed`(topic: String, name: String?) {
        #expect(Topics(prefix: "h").commandName(of: topic) == name)
    }

    @Test(arguments: [
        ("WaterH-Boost-24oz", "waterh_boost_24oz"), ("a/b", "a_b"), ("  ", "x"), ("Küche", "k_che"), ("__a__", "a"),
        ("A4:C1", "a4_c1"),
    ])
    func `names are converted to topic levels`(text: String, plain: String) { #expect(PlainName.of(text) == plain) }

    /// The published id of a session's water must not depend on sharing.
    @Test func `a drink has the same id with and without Waterline`() throws {
        let change = DrinkChange(sequence: 1, key: Drink.sessionKeys + "w7", drink: nil)
        for sees in [true, false] {
            let sip = object(try TrackerAPI.json(SipPayload(change, now: Instant(seconds: 0), mayReadWaterline: sees)))
            #expect(sip["id"] as? String == "w7", "\(sip)")
        }
    }

    private func plan(_ changes: [(String, String)]) throws -> MQTTPlan? {
        var settings = Settings()
        for (name, text) in changes { try settings.set(name, to: text) }
        return try MQTTPlan(settings.service)
    }

    @Test func `the MQTT configuration has every setting, requires a broker and logs no secret`() throws {
        #expect(try plan([("mqtt.prefix", "a")]) == nil)
        let full = try #require(
            try plan([
                ("mqtt.url", "mqtts://h"), ("mqtt.prefix", "a/b"), ("mqtt.commands", "true"), ("mqtt.user", "me"),
                ("mqtt.password", "s3cret"), ("mqtt.caFile", "/ca"),
                ("mqtt.certificateFile", "/cert"), ("mqtt.keyFile", "/key"), ("mqtt.discoveryPrefix", "ha"),
            ]))
        #expect(
            "\(full)"
                == """
                mqtts://h:8883 at a/b, as me with a password, authorities /ca, certificate /cert, key /key, \
                commands, discovery at ha
                """
        )
        let options = full.options(id: "1")
        #expect(
            options.password == "s3cret" && options.clientID == "waterh-1"
                && options.will == MQTTMessage("a/b/availability", "offline", isRetained: true))
        #expect(try plan([("mqtt.url", "mqtt://h"), ("mqtt.discovery", "false")])?.discovery == nil)
    }

    @Test(arguments: [
        [("mqtt.url", "mqtt://h:x")], [("mqtt.url", "mqtt://me:pw@h")],
        [("mqtt.url", "mqtt://h"), ("mqtt.password", "x")], [("mqtt.url", "mqtt://h"), ("mqtt.caFile", "/ca")],
        [("mqtt.url", "mqtt://h"), ("mqtt.user", "me"), ("mqtt.passwordFile", "/nowhere/at/all")],
    ])
    func `inconsistent settings are reported`(changes: [(String, String)]) {
        let error = #expect(throws: (any Error).self) { try plan(changes) }
        #expect("\(error.map { "\($0)" } ?? "")".contains("pw") == false)
    }

    private func drink(deleted: Bool) throws -> StoredDrink {
        let store = try TrackerStore(inMemory: "UTC")
        var drink = try store.logDrink(ml: 120, .test(at: Instant(seconds: 1_000_000)))
        drink.drink.isDeleted = deleted
        return drink
    }

    @Test(arguments: [
        (0, false, SipPayload.Event.sip), (900, false, .sip), (901, false, .historical), (-60, false, .sip),
        (0, true, .deleted), (100_000, true, .deleted),
    ])
    func `a drink is encoded as an MQTT payload`(age: Int64, deleted: Bool, event: SipPayload.Event) throws {
        let payload = SipPayload(
            DrinkChange(sequence: 7, key: "id", drink: try drink(deleted: deleted)),
            now: Instant(seconds: 1_000_000 + age))
        #expect(payload.event == event)
        let json = try TrackerAPI.json(payload)
        #expect(
            json.contains(#""event_type":"\#(event.rawValue)""#) && json.contains(#""id":"id""#)
                && json.contains(#""at":"1970-01-12T13:46:40Z""#), "\(json)")
    }

    @Test func `a deleted drink is encoded as an MQTT payload`() throws {
        let json = try TrackerAPI.json(
            SipPayload(DrinkChange(sequence: 7, key: "k", drink: nil), now: Instant(seconds: 0)))
        #expect(
            json
                == #"""
                {"at":null,"day":null,"deleted":true,"event_type":"deleted","historical":true,"id":"k","ml":null,\#
                "sequence":7,"source":null,"timestamp":null,"zone":null}
                """#
        )
    }

    @Test func `a command is a JSON object, a word or empty`() throws {
        var object = try CommandRequest(
            name: "log", payload: Array(#" {"ml": 250, "at": "14:00", "transaction": 7, "x": null}"#.utf8))
        #expect(object.transaction == "7")
        #expect(try object.mainValue("ml") == "250")
        #expect(try object.fields.text("at") == "14:00")
        #expect(throws: WrongInput.self) { try object.fields.finish() }
        var word = try CommandRequest(name: "log", payload: Array(" cup\n".utf8))
        #expect(try word.mainValue("ml") == "cup")
        try word.fields.finish()
        let nothing = try CommandRequest(name: "undo", payload: [])
        try nothing.fields.finish()
        #expect(nothing.transaction == nil)
    }

    @Test(arguments: [
        "{", "{]", #"{"a": {"b": 1}}"#, #"{"a": [[1]]}"#, "[1]", "[", #"{"transaction": ""}"#,
        #"{"transaction": ["a"]}"#, #"{"transaction": true, "a": [[]]}"#,
        "{\"transaction\": \"\(String(repeating: "x", count: 129))\"}", String(repeating: "x", count: 257),
        String(repeating: "[", count: 10_000),
        "{" + String(repeating: "\"a\":{", count: 2_000), String(repeating: " ", count: CommandRequest.limit + 1),
    ])
    func `an invalid command is rejected with a reason`(text: String) {
        #expect(throws: WrongInput.self) { try CommandRequest(name: "log", payload: Array(text.utf8)) }
    }

    /// An error in processing makes the broker send the message again.
    @Test func `a command is not confirmed while the store is locked`() throws {
        let handler = CommandHandler(
            tracker: { throw StoreError(.busy, "Another process locked it", at: "") },
            service: ServiceClient(
                status: { ServiceStatus(version: "test") }, pollNow: {}, recentPolls: { [] }, send: { _ in "" }),
            sharesWaterline: { false })
        let plan = try #require(
            try plan([("mqtt.url", "mqtt://h"), ("mqtt.prefix", "h"), ("mqtt.commands", "true")]))
        let inbox = CommandInbox(plan, handler, Rejections(log: .silent), id: "1", log: .silent, changed: {})
        #expect(throws: StoreError.self) { try inbox.handle(MQTTMessage("h/cmd/log", "250")) }
    }

    @Test func `a command that is not UTF-8 is rejected`() {
        #expect(throws: WrongInput.self) { try CommandRequest(name: "log", payload: [0xFF, 0xFE, 0x7B]) }
    }

    @Test
    func `a damaged command payload is parsed or rejected`() throws {
        let whole = Array(
            #"{"ml": 250.5, "at": "2026-06-15T14:00Z", "transaction": "a-ü", "arguments": ["x", "y"], "flag": true}"#
                .utf8)
        for length in 0...whole.count { _ = try? CommandRequest(name: "log", payload: Array(whole.prefix(length))) }
        for index in whole.indices {
            for value in [0, 0x22, 0x5C, 0x7B, 0x80, 0xFF] as [UInt8] {
                var damaged = whole
                damaged[index] = value
                guard var request = try? CommandRequest(name: "log", payload: damaged) else { continue }
                _ = try? request.fields.integer("ml")
                _ = request.fields.all()
            }
        }
    }

    static let troubles: [(MQTTFailure.Kind, String, [String])] = [
        (.refused, "mqtt://h", ["mqtt.user", "mqtt.passwordFile"]),
        (.tls, "mqtts://shelf.example", ["mqtt.caFile", "ca-file", "shelf.example", "mqtt.url"]),
        (.closedBeforeResponse, "mqtt://h:8883", ["mqtts://"]), (.takenOver, "mqtt://h", ["Another client", "copy"]),
    ]

    @Test(arguments: troubles) func `a connection error names the setting to change`(
        _ kind: MQTTFailure.Kind, _ url: String, _ words: [String]
    ) throws {
        let text = MQTTAdvice.message(MQTTFailure(kind, "It went wrong"), try plan([("mqtt.url", url)]))
        #expect(text.hasPrefix("It went wrong. ") && words.allSatisfy(text.contains), "\(text)")
    }

    @Test(
        arguments: [
            (5, "not authorised", true), (135, "Not authorized", true), (134, "Bad User Name or Password", true),
            (3, "broker unavailable", false), (137, "Server busy", false), (151, "Quota exceeded", false),
            (157, "Server moved", false), (159, "Connection rate exceeded", false),
        ] as [(Int32, String, Bool)])
    func `only a rejected user is advised to set the password`(_ code: Int32, _ reason: String, _ isUser: Bool) throws {
        let failure = MQTTFailure.rejection(code, by: "The broker")
        let text = MQTTAdvice.message(failure, try plan([("mqtt.url", "mqtt://h")]))
        #expect(text.contains(reason) && text.contains("mqtt.user") == isUser && failure.code == code, "\(text)")
    }

    @Test(arguments: ["wrong version number", "unexpected eof while reading"])
    func `the error for a port without TLS does not mention the CA file`(_ reason: String) throws {
        let text = MQTTAdvice.message(MQTTFailure(.tls, reason), try plan([("mqtt.url", "mqtts://h:1883")]))
        #expect(text.contains("might not use TLS") && !text.contains("caFile"), "\(text)")
    }

    @Test func `an empty password file is reported, and one with blanks is read`() throws {
        let folder = try TemporaryFolder()
        try Data().write(to: folder.url("password"))
        let settings = [("mqtt.url", "mqtt://h"), ("mqtt.user", "me"), ("mqtt.passwordFile", folder.file("password"))]
        let failure = #expect(throws: WrongInput.self) { try plan(settings) }
        #expect(failure?.sentence.contains("is empty") == true)
        try Data("a b ä\nsecond line".utf8).write(to: folder.url("password"))
        #expect(try plan(settings)?.password == "a b ä")
    }
}
