import Bluetooth
import Emulator

/// The attributes of a peripheral from discovery, and those that only the traffic shows.
struct ObservedTable {
    struct Use {
        var properties: CharacteristicProperties = []
        var value: [UInt8]?
        /// Whether every written value had the form of a subscription.
        var isSubscription = true
    }

    /// The characteristics by the handle of their declaration, like includes and services.
    private var characteristics: [UInt16: PeripheralProfile.Characteristic] = [:]
    private var includes: [UInt16: PeripheralProfile.Include] = [:]
    private var groups: [UInt16: PeripheralProfile.Service] = [:]
    /// The types from Find Information, and from reads by type.
    var types: [UInt16: (uuid: BluetoothUUID, source: PeripheralProfile.Source)] = [:]
    var uses: [UInt16: Use] = [:]
    private var hasChanged = false

    /// Adds the response to a discovery request.
    mutating func learn(_ answer: RawSpan, _ request: PendingRequest, source: PeripheralProfile.Source) {
        switch (answer.first, request.type) {
        case (0x09?, 0x2803?):
            _ = answer.forEachItem(of: [7, 21]) { item in
                guard let declaration = item.little16(at: 0), let value = item.little16(at: 3),
                    let uuid = item.uuid(from: 5), value > declaration, declaration > 0
                else { return }
                if let known = characteristics[declaration], known.uuid != uuid || known.handle != value {
                    hasChanged = true
                }
                characteristics[declaration] = PeripheralProfile.Characteristic(
                    uuid: uuid, declaration: declaration, handle: value,
                    properties: CharacteristicProperties(rawValue: item.byte(2)), source: source)
            }
        case (0x09?, 0x2802?):
            _ = answer.forEachItem(of: [6, 8]) { item in
                guard let handle = item.little16(at: 0), let start = item.little16(at: 2),
                    let end = item.little16(at: 4), handle > 0
                else { return }
                includes[handle] = PeripheralProfile.Include(
                    handle: handle, start: start, end: end, uuid: item.uuid(from: 6))
            }
        case (0x11?, let type?) where type == GATTTable.primaryService || type == GATTTable.secondaryService:
            _ = answer.forEachItem(of: [6, 20]) { item in
                group(item.uuid(from: 4), item, isSecondary: type == GATTTable.secondaryService, source)
            }
        case (0x07?, 0x2800?):
            _ = answer.forEachItem(ofSize: 4, from: 1) { item in
                group(request.value, item, isSecondary: false, source)
            }
        case (0x05?, nil):
            _ = answer.forEachInformation { handle, uuid in if handle > 0 { types[handle] = (uuid, source) } }
        default: break
        }
    }

    private mutating func group(
        _ uuid: BluetoothUUID?, _ item: RawSpan, isSecondary: Bool, _ source: PeripheralProfile.Source
    ) {
        guard let uuid, let start = item.little16(at: 0), let end = item.little16(at: 2), start > 0, end >= start else {
            return
        }
        if let known = groups[start], known.uuid != uuid { hasChanged = true }
        groups[start] = PeripheralProfile.Service(
            uuid: uuid, handle: start, end: end, secondary: isSecondary ? true : nil, source: source)
    }

    /// The attributes in order, each handle once, and a sentence for each dropped or guessed one.
    func services() -> (services: [PeripheralProfile.Service], gaps: [String]) {
        var builder = TableBuilder()
        if hasChanged { builder.gaps = ["the table changed in the capture: each handle has its last meaning"] }
        for (_, group) in groups.sorted(by: { $0.key < $1.key }) { builder.add(group) }
        for (_, include) in includes.sorted(by: { $0.key < $1.key }) { builder.add(include) }
        for (_, declared) in characteristics.sorted(by: { $0.key < $1.key }) {
            var characteristic = declared
            characteristic.value = uses[declared.handle]?.value.map { Octets($0) }
            builder.add(characteristic)
        }
        let uuids = types.mapValues(\.uuid)
        for (handle, type) in types.sorted(by: { $0.key < $1.key }) {
            builder.add(type.uuid, type.source, at: handle, types: uuids, uses[handle])
        }
        for (handle, use) in uses.sorted(by: { $0.key < $1.key }) {
            let before = uses[handle - (handle > 0 ? 1 : 0)]?.properties
            builder.add(use, at: handle, isAfterNotifying: before?.isDisjoint(with: [.notify, .indicate]) == false)
        }
        return builder.finish()
    }
}

/// Arranges attributes in the table: services, their attributes, then those only in the traffic. Handles are unique.
private struct TableBuilder {
    var gaps: [String] = []
    private var services: [PeripheralProfile.Service] = []
    private var taken: Set<UInt16> = []
    private var leftOut: [UInt16] = []

    // MARK: discovered, in order of their handles

    mutating func add(_ service: PeripheralProfile.Service) {
        if let last = services.indices.last, services[last].end >= service.handle {
            // An end of 65535 means the last attribute.
            if services[last].end != .max {
                gaps.append(
                    """
                    the services at \(services[last].handle) and \(service.handle) overlap: the first one ends \
                    before the second
                    """)
            }
            services[last].end = service.handle - 1
        }
        services.append(service)
        taken.insert(service.handle)
    }

    mutating func add(_ include: PeripheralProfile.Include) {
        guard let place = service(at: include.handle), taken.insert(include.handle).inserted else {
            return leftOut.append(include.handle)
        }
        services[place].includes.append(include)
    }

    mutating func add(_ new: PeripheralProfile.Characteristic) {
        guard taken.isDisjoint(with: [new.declaration, new.handle]), let place = home(of: new),
            new.handle <= services[place].end
        else { return leftOut.append(new.handle) }
        let index = services[place].characteristics.countInOrder { $0.declaration <= new.declaration }
        // Characteristics do not overlap.
        guard index == 0 || services[place].characteristics[index - 1].handle < new.declaration,
            index == services[place].characteristics.count
                || services[place].characteristics[index].declaration > new.handle
        else { return leftOut.append(new.handle) }
        taken.formUnion([new.declaration, new.handle])
        services[place].characteristics.insert(new, at: index)
    }

    /// Adds an attribute of a known type: a descriptor, or a value without a discovered declaration.
    mutating func add(
        _ type: BluetoothUUID, _ source: PeripheralProfile.Source, at handle: UInt16, types: [UInt16: BluetoothUUID],
        _ use: ObservedTable.Use?
    ) {
        guard !taken.contains(handle), handle > 0 else { return }
        if type == GATTTable.primaryService || type == GATTTable.secondaryService || type == 0x2802 { return }
        if type == GATTTable.characteristic {
            guard handle < .max, let uuid = types[handle + 1] else { return }
            return addSeen(uuid, at: handle + 1, use)
        }
        // Descriptors have types 29xx; other attributes read by type are values.
        let isValue = source == .seen && type.short.map { !(0x2900...0x29FF).contains($0) } ?? true
        if isValue || types[handle - 1] == GATTTable.characteristic { return addSeen(type, at: handle, use) }
        describe(type, source, at: handle, use)
    }

    // MARK: seen

    /// Adds an attribute that is known only from its traffic.
    mutating func add(_ use: ObservedTable.Use, at handle: UInt16, isAfterNotifying: Bool) {
        guard !taken.contains(handle), handle > 0 else { return }
        // A subscription descriptor follows its value, which has notified or is known.
        let owner = owner(of: handle)
        if use.isSubscription, use.properties.contains(.write), isAfterNotifying || owner?.isNotifying == true,
            describe(GATTTable.clientConfiguration, .seen, at: handle, use)
        {
            return
        }
        if owner?.isDiscovered == true {
            describe(nil, .seen, at: handle, use)
        } else {
            addSeen(nil, at: handle, use)
        }
    }

    private mutating func addSeen(_ uuid: BluetoothUUID?, at handle: UInt16, _ use: ObservedTable.Use?) {
        guard handle > 1, !taken.contains(handle) else { return leftOut.append(handle) }
        // The declaration is directly before its value. If that handle is taken, the attribute is a descriptor.
        guard !taken.contains(handle - 1) else {
            describe(uuid, .seen, at: handle, use)
            return
        }
        add(
            PeripheralProfile.Characteristic(
                uuid: uuid, declaration: handle - 1, handle: handle, properties: use?.properties ?? [], source: .seen,
                value: use?.value.map { Octets($0) }))
    }

    /// Adds a descriptor to the preceding characteristic.
    @discardableResult
    private mutating func describe(
        _ uuid: BluetoothUUID?, _ source: PeripheralProfile.Source, at handle: UInt16, _ use: ObservedTable.Use?
    ) -> Bool {
        guard let (place, index) = characteristic(before: handle), taken.insert(handle).inserted else {
            leftOut.append(handle)
            return false
        }
        var owner = services[place].characteristics[index]
        // A host has subscribed to the characteristic, but the capture has no notification.
        if uuid == GATTTable.clientConfiguration, owner.source == .seen, !owner.canBeSubscribed {
            owner.properties.insert(.notify)
        }
        owner.descriptors.insert(
            PeripheralProfile.Descriptor(
                uuid: uuid, handle: handle, source: source, value: use?.value.map { Octets($0) }),
            at: owner.descriptors.countInOrder { $0.handle <= handle })
        services[place].characteristics[index] = owner
        return true
    }

    private func characteristic(before handle: UInt16) -> (service: Int, index: Int)? {
        guard let place = service(at: handle) else { return nil }
        let index = services[place].characteristics.countInOrder { $0.handle < handle } - 1
        return index >= 0 ? (place, index) : nil
    }

    /// The characteristic to which a descriptor with this handle belongs.
    private func owner(of handle: UInt16) -> (isNotifying: Bool, isDiscovered: Bool)? {
        guard let (place, index) = characteristic(before: handle) else { return nil }
        let found = services[place].characteristics[index]
        return (
            found.canBeSubscribed && found.configuration == nil,
            found.source == .discovered && services[place].source == .discovered
        )
    }

    // MARK: services

    private func service(at handle: UInt16) -> Int? {
        let index = services.countInOrder { $0.handle < handle } - 1
        return index >= 0 && handle <= services[index].end ? index : nil
    }

    /// The service of a characteristic: a known one, or a new one for the free handles around the characteristic.
    private mutating func home(of characteristic: PeripheralProfile.Characteristic) -> Int? {
        if let known = service(at: characteristic.declaration) { return known }
        // The service declaration is directly before, and the service ends before the next service.
        guard characteristic.declaration > 1 else { return nil }
        let start = characteristic.declaration - 1
        let next = services.countInOrder { $0.handle <= start }
        guard !taken.contains(start), next == 0 || services[next - 1].end < start else { return nil }
        let end = next < services.count ? services[next].handle - 1 : .max
        services.insert(PeripheralProfile.Service(uuid: nil, handle: start, end: end, source: .seen), at: next)
        taken.insert(start)
        return next
    }

    mutating func finish() -> (services: [PeripheralProfile.Service], gaps: [String]) {
        for index in services.indices {
            // Includes are before the first characteristic.
            let first = services[index].characteristics.first?.declaration ?? .max
            leftOut += services[index].includes.map(\.handle).filter { $0 >= first }
            services[index].includes.removeAll { $0.handle >= first }
            services[index] = withDescriptorsInPlace(services[index])
        }
        let lost = Set(leftOut).subtracting(taken).sorted()
        if !lost.isEmpty {
            let list = lost.prefix(10).map(String.init).joined(separator: ", ")
            let more = lost.count > 10 ? " and \(lost.count - 10) more" : ""
            gaps.append("left out, because they do not fit: handle\(lost.count == 1 ? "" : "s") \(list)\(more)")
        }
        return (services, gaps)
    }

    /// Moves each descriptor to the last characteristic before it, because characteristics were added.
    private mutating func withDescriptorsInPlace(_ old: PeripheralProfile.Service) -> PeripheralProfile.Service {
        var service = old
        let descriptors = service.characteristics.flatMap(\.descriptors).sorted { $0.handle < $1.handle }
        for index in service.characteristics.indices { service.characteristics[index].descriptors = [] }
        for descriptor in descriptors {
            let index = service.characteristics.countInOrder { $0.declaration < descriptor.handle } - 1
            guard index >= 0, service.characteristics[index].handle < descriptor.handle else {
                taken.remove(descriptor.handle)
                leftOut.append(descriptor.handle)
                continue
            }
            service.characteristics[index].descriptors.append(descriptor)
        }
        return service
    }
}

extension Array {
    /// The number of elements at the start of a sorted array that match the condition.
    fileprivate func countInOrder(where condition: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = low + (high - low) / 2
            if condition(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
