import Testing

@testable import HomeAssistant

@Suite struct MQTTAddressTests {
    @Test(arguments: [
        ("mqtt://host", "mqtt://host:1883"), ("mqtts://host", "mqtts://host:8883"), ("MQTT://h:99/", "mqtt://h:99"),
        ("mqtt://[::1]", "mqtt://[::1]:1883"),
        ("mqtts://[fe80::1%eth0]:1", "mqtts://[fe80::1%eth0]:1"),
        ("mqtt://192.168.0.2:65535", "mqtt://192.168.0.2:65535"),
    ])
    func `a broker address is parsed`(text: String, meant: String) throws {
        #expect(try MQTTAddress(text).description == meant)
    }

    @Test(arguments: [
        "", "host", "http://h", "mqtt://", "mqtt://:1883", "mqtt://h:0", "mqtt://h:65536", "mqtt://h:x", "mqtt://h:",
        "mqtt://::1", "mqtt://[::1", "mqtt://[::1]x", "mqtt://[]",
        "mqtt://h/path", "mqtt://h?x", "mqtt://h#x", "mqtt://a b", "mqtt://h\u{7f}", "mqtt://h:-1", "mqtt://h:+1",
    ])
    func `an invalid broker address is rejected`(text: String) {
        #expect(throws: MQTTFailure.self) { try MQTTAddress(text) }
    }

    @Test func `credentials in a broker address are rejected`() {
        let failure = #expect(throws: MQTTFailure.self) { try MQTTAddress("mqtt://me:secret@host") }
        #expect(failure?.description.contains("secret") == false)
    }

    @Test
    func `a truncated broker address is parsed or rejected`() {
        for text in ["mqtts://[fe80::1%eth0]:8883/", "mqtt://a.example:1883"] {
            for length in 0...text.count { _ = try? MQTTAddress(String(text.prefix(length))) }
        }
    }
}
