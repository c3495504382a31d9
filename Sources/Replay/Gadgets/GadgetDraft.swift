import Bluetooth
import Emulator

/// What is known of one peripheral so far, over all its connections.
final class GadgetDraft {
    var address: BluetoothAddress?
    var isRandom: Bool?
    var advertisedName: String?
    var advertisement: [UInt8]?
    var scanResponse: [UInt8]?
    var mtu: Int?
    /// ATT PDUs from it.
    var answers = 0
    var encryptedConnections = 0
    /// Read Multiple requests: their answers do not say where one value ends.
    var multipleReads = 0
    var table = ObservedTable()
    private var conversations: [Gadget.Conversation] = []

    var connectionCount: Int { conversations.count }

    func beginConversation() -> Int {
        conversations.append(Gadget.Conversation())
        return conversations.count - 1
    }

    func add(_ exchange: Gadget.Exchange, _ conversation: Int) -> Int {
        conversations[conversation].exchanges.append(exchange)
        return conversations[conversation].exchanges.count - 1
    }

    func change(_ conversation: Int, _ exchange: Int, _ body: (inout Gadget.Exchange) -> Void) {
        body(&conversations[conversation].exchanges[exchange])
    }

    // MARK: the table

    func learn(_ answer: RawSpan, _ request: PendingRequest, isSynthetic: Bool) {
        table.learn(answer, request, source: isSynthetic ? .seen : .discovered)
    }

    func met(_ type: BluetoothUUID, at handle: UInt16) {
        if table.types[handle] == nil { table.types[handle] = (type, .seen) }
    }

    func touched(_ handle: UInt16) {
        if table.uses[handle] == nil { table.uses[handle] = ObservedTable.Use() }
    }

    func read(_ handle: UInt16, _ value: [UInt8]) {
        table.uses[handle, default: ObservedTable.Use()].value = value
        table.uses[handle]?.properties.insert(.read)
    }

    func wrote(_ handle: UInt16, _ value: [UInt8], withResponse: Bool) {
        table.uses[handle, default: ObservedTable.Use()].properties.insert(
            withResponse ? .write : .writeWithoutResponse)
        // What a subscription looks like: two bytes, bit 0 notifications, bit 1 indications.
        if value.count != 2 || value[0] > 3 || value[1] != 0 { table.uses[handle]?.isSubscription = false }
    }

    func sent(_ handle: UInt16, isIndication: Bool) {
        table.uses[handle, default: ObservedTable.Use()].properties.insert(isIndication ? .indicate : .notify)
        table.uses[handle]?.isSubscription = false
    }

    // MARK: the outcome

    /// All of it as a document that `check` finds nothing wrong with.
    var gadget: Gadget {
        var gadget = Gadget(address: address, addressType: isRandom.map { $0 ? .random : .public }, mtu: mtu)
        gadget.advertisement = advertisement.map { Octets($0) }
        gadget.scanResponse = scanResponse.map { Octets($0) }
        let outcome = table.services()
        gadget.services = outcome.services
        gadget.conversations = conversations.map { conversation in
            // A read that was not answered says nothing; a write has been made all the same.
            Gadget.Conversation(conversation.exchanges.filter { $0.request != .read || $0.response != nil })
        }
        gadget.conversations.removeAll { $0.exchanges.isEmpty }
        let deviceName = gadget.characteristics.first { $0.uuid == GATTTable.deviceName }?.value.map {
            String(decoding: $0.bytes, as: UTF8.self)
        }
        gadget.name = (advertisedName ?? deviceName).map(Self.cleared).flatMap { $0.isEmpty ? nil : $0 }
        gadget.gaps = gaps(of: gadget) + outcome.gaps
        return gadget
    }

    /// A name of at most 248 bytes, without what moves a terminal's cursor.
    private static func cleared(_ name: String) -> String {
        var name = name.withoutControls
        while name.utf8.count > 248 { name.removeLast() }
        return name
    }

    private func gaps(of gadget: Gadget) -> [String] {
        var gaps: [String] = []
        if encryptedConnections > 0 {
            gaps.append(
                """
                \(Self.count(encryptedConnections, "connection")) went on encrypted: what was said from then on \
                could not be seen
                """
            )
        }
        if gadget.address == nil { gaps.append("its address is not in the capture") }
        if gadget.advertisement == nil { gaps.append("no advertisement of it is in the capture") }
        if gadget.mtu == nil { gaps.append("no exchange of the MTU is in the capture: 23") }
        if gadget.services.isEmpty {
            gaps.append("no attribute of it was seen")
        } else if gadget.services.allSatisfy({ $0.source == .seen }) {
            gaps.append("no discovery of its services is in the capture: they are put together from what was said")
        }
        let characteristics = gadget.characteristics
        let seen = characteristics.filter { $0.source == .seen }.count
        if seen > 0 {
            gaps.append(
                """
                \(seen) of \(Self.count(characteristics.count, "characteristic")) \(seen == 1 ? "was" : "were") \
                seen and not discovered
                """
            )
        }
        let unread = characteristics.filter { $0.properties.contains(.read) && $0.value == nil }.count
        if unread > 0 { gaps.append("the values of \(Self.count(unread, "readable characteristic")) were never read") }
        let unsubscribed = characteristics.filter { $0.canBeSubscribed && $0.configuration == nil }.count
        if unsubscribed > 0 {
            gaps.append("where to subscribe is not known of \(Self.count(unsubscribed, "characteristic"))")
        }
        if multipleReads > 0 {
            gaps.append(
                "\(Self.count(multipleReads, "answer")) held several values with nothing between them: left out")
        }
        return gaps
    }

    private static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
}
