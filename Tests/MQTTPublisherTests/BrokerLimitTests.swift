import Foundation
import Store
import Support
import Synchronization
import Testing
import TrackerCore
import TrackerService

@testable import HomeAssistant

/// A real mosquitto that denies topics or supports fewer features.
@Suite(.timeLimit(.minutes(5))) struct BrokerLimitTests {
    /// A broker whose access rules can change at run time.
    private struct Guarded {
        let broker: Broker

        init(_ rules: String, _ lines: [String] = []) async throws {
            broker = try await Broker { folder in
                try rules.write(to: folder.url("acl"), atomically: true, encoding: .utf8)
                return ["allow_anonymous true", "acl_file \(folder.file("acl"))"] + lines
            }
        }

        func allow(_ rules: String) throws {
            try rules.write(to: broker.folder.url("acl"), atomically: false, encoding: .utf8)
            broker.signal(SIGHUP)
        }
    }

    private func rejections(_ rig: PublisherRig) -> [String] {
        rig.events.filter { $0.contains(" does not accept ") || $0.contains(" does not support ") }
    }

    private func troubles(_ rig: PublisherRig) -> String {
        ((try? rig.store.publisherErrors()) ?? []).map(\.message).joined(separator: " ")
    }

    @Test func `drinks wait while the broker denies their topic, and arrive once afterwards`() async throws {
        let guarded = try await Guarded("topic read #\ntopic write h/state\ntopic write h/availability\n")
        let ear = try await guarded.broker.listen("h/sip", as: "ear")
        let rig = try await guarded.broker.publisher()
        for ml in [100, 200, 300] { _ = try rig.tracker().logDrink(.ml(ml)) }
        #expect(await eventually { rejections(rig).contains { $0.contains(" h/sip: Not authorized") } })
        #expect(await eventually { troubles(rig).contains(" h/sip: Not authorized") })
        let check = try await BrokerCheck.run(rig.store, overlay: { $0 }, nonce: "1")
        guard case .serviceError(let text)? = check else {
            return #expect(Bool(false), "\(String(describing: check))")
        }
        #expect(text.contains(" h/sip: Not authorized"))
        #expect(try rig.store.waitingChanges(for: "mqtt") == 3 && ear.payloads(at: "h/sip").isEmpty)
        // A further attempt is not reported again.
        #expect(rejections(rig).count { $0.contains(" h/sip: ") } == 1)
        try guarded.allow("topic readwrite #\n")
        #expect(await rig.hasPublishedAll(within: 60))
        #expect(await eventually(within: 60) { (try? rig.store.publisherErrors().isEmpty) == true })
        #expect(await eventually { ear.sips.count >= 3 } && ear.sips == [100, 200, 300])
        await rig.stop()
    }

    /// With this setting, mosquitto 2.0.16 and Debian's 2.0.11 disconnect after each rejected message.
    @Test func `the denial is shown when the broker disconnects after it`() async throws {
        let guarded = try await Guarded("topic readwrite #\ntopic deny h/sip\n", ["max_queued_messages 0"])
        let rig = try await guarded.broker.publisher()
        _ = try rig.tracker().logDrink(.ml(100))
        #expect(await eventually { troubles(rig).contains(" h/sip: Not authorized") })
        _ = await eventually(within: 15) { rig.connections > 3 }
        #expect(await eventually { troubles(rig).contains(" h/sip: Not authorized") }, "\(troubles(rig))")
        #expect(!rig.events.contains { $0.contains(MQTTAdvice.otherClient) }, "\(rig.events)")
        await rig.stop()
    }

    @Test func `denied discovery and state topics are reported and published later`() async throws {
        let guarded = try await Guarded("topic read #\ntopic write h/sip\ntopic write h/availability\n")
        let rig = try await guarded.broker.publisher()
        let device = "homeassistant/device/waterh_\(try rig.store.openPublisher("mqtt", makeID: { "x" }).id)/config"
        for topic in ["h/state", "h/bridge/info", device] {
            #expect(
                await eventually { rejections(rig).contains { $0.contains(" \(topic): Not authorized") } },
                "\(topic): \(rejections(rig))")
            #expect(await eventually { troubles(rig).contains(" \(topic): Not authorized") }, "\(troubles(rig))")
        }
        #expect(await eventually { (try? rig.tracker().logDrink(.ml(120))) != nil })
        #expect(await rig.hasPublishedAll())
        try guarded.allow("topic readwrite #\n")
        let isPublished = await eventually(within: 90) {
            guard let kept = try? await guarded.broker.retainedMessages() else { return false }
            return kept.contains { $0.hasPrefix("1 \(device) {") }
                && kept.contains { $0.contains(#""dailyTotalMl":120"#) }
        }
        #expect(isPublished)
        #expect(await eventually(within: 60) { (try? rig.store.publisherErrors().isEmpty) == true })
        await rig.stop()
    }

    @Test func `a notification that the broker denies does not count as delivered`() async throws {
        let guarded = try await Guarded("topic read #\n")
        let rig = try await guarded.broker.publisher()
        let noon = try rig.trackerAtNoon()
        #expect(try await noon.deliver([rig.channel]).notifications.map(\.isShown) == [false])
        #expect(rejections(rig).contains { $0.contains(" h/notify: Not authorized") })
        await rig.stop()
    }

    @Test(arguments: [
        ("retain_available false", 1, "retained messages: Retain not supported"),
        ("max_qos 0", 0, "QoS 1: QoS not supported"),
    ])
    func `the rest is published when the broker does not support a feature`(_ line: String, qos: Int, reason: String)
        async throws
    {
        let broker = try await Broker { _ in ["allow_anonymous true", line] }
        let ear = try await broker.listen("h/#", qos: qos)
        let rig = try await broker.publisher()
        _ = try rig.tracker().logDrink(.ml(150))
        #expect(await eventually { ear.payloads(at: "h/sip").count == 1 }, "\(ear.output)")
        #expect(await eventually { ear.lastObject(at: "h/state")["dailyTotalMl"] as? Int == 150 })
        #expect(await rig.hasPublishedAll())
        #expect(rejections(rig).contains { $0.contains("does not support \(reason)") }, "\(rejections(rig))")
        #expect(await eventually { troubles(rig).contains(reason) }, "\(troubles(rig))")
        #expect(rig.connections == 1)
        await rig.stop()
    }

    @Test func `a device is published in parts when the broker's limit is too small for it`() async throws {
        let broker = try await Broker { _ in ["allow_anonymous true", "message_size_limit 4000"] }
        let rig = try await broker.publisher()
        _ = try rig.tracker().logDrink(.ml(150))
        let id = try rig.store.openPublisher("mqtt", makeID: { "x" }).id
        let kept: [String]? = await event {
            guard let kept = try? await broker.retainedMessages() else { return nil }
            return kept.contains { $0.contains(#""dailyTotalMl":150"#) }
                && kept.contains { $0.hasPrefix("1 homeassistant/event/waterh_\(id)/reminder/config {") } ? kept : nil
        }
        let today = try #require(kept?.first { $0.hasPrefix("1 homeassistant/sensor/waterh_\(id)/today/config {") })
        let message = object(String(today.drop { $0 != "{" }))
        #expect(
            message["unique_id"] as? String == "waterh_\(id)_today" && message["state_topic"] as? String == "h/state")
        #expect((message["device"] as? [String: Any])?["identifiers"] as? [String] == ["waterh_\(id)"])
        #expect(rejections(rig) == [] && rig.connections == 1)
        await rig.stop()
    }

    @Test func `messages that fit are published when the broker limits packet size`() async throws {
        let broker = try await Broker { _ in ["allow_anonymous true", "max_packet_size 1000"] }
        let ear = try await broker.listen("h/#")
        let rig = try await broker.publisher()
        _ = try rig.tracker().logDrink(.ml(150))
        #expect(await eventually { ear.payloads(at: "h/sip").count == 1 }, "\(ear.output)")
        #expect(await rig.hasPublishedAll())
        #expect(await eventually { rejections(rig).contains { $0.contains(" h/state: ") } })
        #expect(ear.payloads(at: "h/availability").last == "online" && rig.connections == 1)
        await rig.stop()
    }

    @Test func `a purge while the broker is away clears its messages at the next connection`() async throws {
        let broker = try await Broker()
        let rig = try await broker.publisher(isInFile: true)
        #expect(await rig.hasRetainedTopics())
        let old = try #require(try rig.store.identity(of: "mqtt")).id
        try await broker.stop(SIGTERM)
        _ = await eventually { await !rig.channel.canShow() }
        _ = try await rig.tracker().purge()
        try await broker.start()
        try await rig.connected(2)
        let isCleared = await eventually(within: 60) {
            guard let kept = try? await broker.retainedMessages() else { return false }
            return kept.contains("1 h/availability online") && !kept.contains { $0.contains(old) }
        }
        #expect(isCleared)
        #expect(try rig.tracker().staleTopicCount() == 0)
        await rig.stop()
    }
}
