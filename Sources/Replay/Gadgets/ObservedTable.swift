import Bluetooth
import Emulator

/// The attributes of a peripheral: what discovery told, and what the traffic shows beyond.
struct ObservedTable {
    /// What was done with the attribute at a handle.
    struct Use {
        /// What a characteristic must offer for that.
        var properties: CharacteristicProperties = []
        /// As it was last read.
        var value: [UInt8]?
        /// Everything written to it was a subscription, as far as its shape tells.
        var isSubscription = true
    }

    private struct Declared {
        var uuid: BluetoothUUID
        var properties: CharacteristicProperties
        var value: UInt16
        var source: Gadget.Source
    }

    /// By handle of the declaration; so for includes and services.
    private var characteristics: [UInt16: Declared] = [:]
    private var includes: [UInt16: Gadget.Include] = [:]
    private var groups: [UInt16: Gadget.Service] = [:]
    /// What Find Information told, and the types by which something was read.
    var types: [UInt16: (uuid: BluetoothUUID, source: Gadget.Source)] = [:]
    var uses: [UInt16: Use] = [:]
    private var hasChanged = false

    // MARK: learning

    /// Takes what an answer to a request of discovery tells.
    mutating func learn(_ answer: RawSpan, _ request: PendingRequest, source: Gadget.Source) {
        switch (answer.first, request) {
        case (0x09?, .readByType(0x2803)):
            for item in Items(answer, sizes: [7, 21]) {
                guard let declaration = item.little16(at: 0), let value = item.little16(at: 3),
                    let uuid = item.uuid(from: 5), value > declaration
                else { continue }
                declare(
                    Declared(
                        uuid: uuid, properties: CharacteristicProperties(rawValue: item.byte(2)), value: value,
                        source: source), at: declaration)
            }
        case (0x09?, .readByType(0x2802)):
            for item in Items(answer, sizes: [6, 8]) {
                guard let handle = item.little16(at: 0), let start = item.little16(at: 2),
                    let end = item.little16(at: 4), handle > 0
                else { continue }
                includes[handle] = Gadget.Include(handle: handle, start: start, end: end, uuid: item.uuid(from: 6))
            }
        case (0x11?, .readByGroupType(let type))
        where type == GATTTable.primaryService || type == GATTTable.secondaryService:
            for item in Items(answer, sizes: [6, 20]) {
                guard let start = item.little16(at: 0), let end = item.little16(at: 2), let uuid = item.uuid(from: 4)
                else { continue }
                group(uuid, start, end, isSecondary: type == GATTTable.secondaryService, source)
            }
        case (0x07?, .findByTypeValue(type: 0x2800, value: let uuid?)):
            var at = 1
            while let start = answer.little16(at: at), let end = answer.little16(at: at + 2) {
                group(uuid, start, end, isSecondary: false, source)
                at += 4
            }
        case (0x05?, .findInformation):
            guard answer.byteCount >= 2, answer.byte(1) == 1 || answer.byte(1) == 2 else { return }
            let size = answer.byte(1) == 1 ? 4 : 18
            var at = 2
            while at + size <= answer.byteCount {
                if let handle = answer.little16(at: at), let uuid = answer.uuid(from: at + 2, to: at + size), handle > 0
                {
                    types[handle] = (uuid, source)
                }
                at += size
            }
        default: break
        }
    }

    private mutating func group(
        _ uuid: BluetoothUUID, _ start: UInt16, _ end: UInt16, isSecondary: Bool, _ source: Gadget.Source
    ) {
        guard start > 0, end >= start else { return }
        if let known = groups[start], known.uuid != uuid { hasChanged = true }
        groups[start] = Gadget.Service(
            uuid: uuid, handle: start, end: end, secondary: isSecondary ? true : nil, source: source)
    }

    private mutating func declare(_ new: Declared, at declaration: UInt16) {
        guard declaration > 0 else { return }
        if let known = characteristics[declaration], known.uuid != new.uuid || known.value != new.value {
            hasChanged = true
        }
        characteristics[declaration] = new
    }

    // MARK: the outcome

    /// The attributes in order, every handle given once; and what had to be left out or guessed, a sentence each.
    func services() -> (services: [Gadget.Service], gaps: [String]) {
        var builder = TableBuilder(
            gaps: hasChanged
                ? ["the table has changed in the course of the capture: each handle is what it was last"] : [])
        for start in groups.keys.sorted() { if let group = groups[start] { builder.add(group) } }
        for handle in includes.keys.sorted() { if let include = includes[handle] { builder.add(include) } }
        for declaration in characteristics.keys.sorted() {
            guard let declared = characteristics[declaration] else { continue }
            builder.add(
                Gadget.Characteristic(
                    uuid: declared.uuid, declaration: declaration, handle: declared.value,
                    properties: declared.properties, source: declared.source,
                    value: uses[declared.value]?.value.map { Octets($0) }))
        }
        let uuids = types.mapValues(\.uuid)
        for handle in types.keys.sorted() {
            guard let type = types[handle] else { continue }
            builder.add(type.uuid, type.source, at: handle, types: uuids, uses[handle])
        }
        for handle in uses.keys.sorted() {
            guard let use = uses[handle] else { continue }
            builder.add(
                use, at: handle,
                isBehind: uses[handle - (handle > 0 ? 1 : 0)]?.properties.isDisjoint(with: [.notify, .indicate])
                    == false)
        }
        return builder.finish()
    }
}

/// The items of an answer `opcode n item*`, each of n bytes, where n is one of the sizes that fit.
private struct Items: Sequence, IteratorProtocol {
    private let bytes: [UInt8]
    private let size: Int
    private var at = 2

    init(_ answer: RawSpan, sizes: [Int]) {
        bytes = answer.bytes()
        size = bytes.count >= 2 && sizes.contains(Int(bytes[1])) ? Int(bytes[1]) : .max
    }

    mutating func next() -> Item? {
        guard size < .max, at + size <= bytes.count else { return nil }
        defer { at += size }
        return Item(bytes: Array(bytes[at..<(at + size)]))
    }

    struct Item {
        let bytes: [UInt8]

        func byte(_ offset: Int) -> UInt8 { bytes[offset] }
        func little16(at offset: Int) -> UInt16? { bytes.span.bytes.little16(at: offset) }
        func uuid(from offset: Int) -> BluetoothUUID? { bytes.span.bytes.uuid(from: offset) }
    }
}
