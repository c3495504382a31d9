import Bluetooth
import Emulator

/// The attributes of a peripheral: those discovered, and those that only reads, writes and notifications show.
struct ObservedTable {
    /// The use of an attribute in the capture.
    struct Use {
        var properties: CharacteristicProperties = []
        var value: [UInt8]?
        /// Whether every written value has the format of a subscription (a client characteristic configuration).
        var isSubscription = true
    }

    /// The characteristics by the handle of their declaration; also the keys of `includes` and `groups`.
    private var characteristics: [UInt16: PeripheralProfile.Characteristic] = [:]
    private var includes: [UInt16: PeripheralProfile.Include] = [:]
    private var groups: [UInt16: PeripheralProfile.Service] = [:]
    /// The types from Find Information, and from reads by type.
    var types: [UInt16: (uuid: BluetoothUUID, source: PeripheralProfile.Source)] = [:]
    var uses: [UInt16: Use] = [:]
    private var hasChanged = false

    /// Adds the attributes in the response to a discovery request.
    mutating func add(_ answer: RawSpan, _ request: PendingRequest, source: PeripheralProfile.Source) {
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

    /// The attributes in order, each handle once, and a message for each dropped or guessed one.
    func services() -> (services: [PeripheralProfile.Service], gaps: [String]) {
        var builder = TableBuilder(groups.values.sorted { $0.handle < $1.handle })
        if hasChanged {
            builder.gaps.insert("the GATT table changed in the capture: the last state of each handle is used", at: 0)
        }
        let handles = Set(groups.keys).union(includes.keys).union(characteristics.keys).union(types.keys)
            .union(uses.keys)
        for handle in handles.sorted() {
            if groups[handle] != nil {
                builder.addDiscoveredService()
            } else if let include = includes[handle] {
                builder.add(include)
            } else if var characteristic = characteristics[handle] {
                characteristic.value = uses[characteristic.handle]?.value.map { Octets($0) }
                builder.add(characteristic)
            } else {
                add(handle, to: &builder)
            }
        }
        return builder.finish()
    }

    /// Adds an attribute that is not a discovered service, include or characteristic.
    private func add(_ handle: UInt16, to builder: inout TableBuilder) {
        guard handle > 0, !builder.usedHandles.contains(handle) else { return }
        let use = uses[handle]
        if let (uuid, source) = types[handle] {
            if Self.declarations.contains(uuid) { return }
            if isValue(handle) {
                builder.addValue(uuid, at: handle, use)
            } else {
                builder.addDescriptor(uuid, source, at: handle, use)
            }
            return
        }
        // A declaration is directly before its value, so this handle is one.
        guard let use, !isValue(handle &+ 1) else { return }
        // A client characteristic configuration follows the value of a characteristic that can notify.
        let owner = builder.owner(of: handle)
        let isAfterNotifying = uses[handle &- 1]?.properties.isDisjoint(with: [.notify, .indicate]) == false
        if use.isSubscription, use.properties.contains(.write), isAfterNotifying || owner?.isNotifying == true,
            builder.addDescriptor(GATTTable.clientConfiguration, .seen, at: handle, use)
        {
            return
        }
        if owner?.isDiscovered == true {
            builder.addDescriptor(nil, .seen, at: handle, use)
        } else {
            builder.addValue(nil, at: handle, use)
        }
    }

    private static let declarations: Set<BluetoothUUID> = [
        GATTTable.primaryService, GATTTable.secondaryService, 0x2802, GATTTable.characteristic,
    ]

    /// Whether an attribute of known type is a value: its declaration is known, or its type is not that of a
    /// descriptor (29xx).
    private func isValue(_ handle: UInt16) -> Bool {
        guard let (uuid, source) = types[handle], !Self.declarations.contains(uuid) else { return false }
        return types[handle &- 1]?.uuid == GATTTable.characteristic
            || source == .seen && uuid.short.map { !(0x2900...0x29FF).contains($0) } ?? true
    }
}

/// Arranges attributes in services. Attributes are added in the order of their handles.
private struct TableBuilder {
    var gaps: [String] = []
    private var services: [PeripheralProfile.Service] = []
    /// The discovered services that are not added yet.
    private var discovered: ArraySlice<PeripheralProfile.Service>
    private(set) var usedHandles: Set<UInt16> = []
    private var unplaced: [UInt16] = []

    init(_ discovered: [PeripheralProfile.Service]) {
        self.discovered = discovered[...]
        for (index, next) in discovered.enumerated().dropFirst() where discovered[index - 1].end >= next.handle {
            // An end of 65535 means the last attribute of the table, so no message is needed.
            if discovered[index - 1].end != .max {
                gaps.append(
                    """
                    the services at \(discovered[index - 1].handle) and \(next.handle) overlap: the first one ends \
                    before the second
                    """)
            }
            self.discovered[index - 1].end = next.handle - 1
        }
    }

    mutating func addDiscoveredService() { append(discovered.removeFirst()) }

    private mutating func append(_ service: PeripheralProfile.Service) {
        services.append(service)
        usedHandles.insert(service.handle)
    }

    mutating func add(_ include: PeripheralProfile.Include) {
        // Includes are before the first characteristic.
        guard let service = service(at: include.handle), services[service].characteristics.isEmpty else {
            return unplaced.append(include.handle)
        }
        usedHandles.insert(include.handle)
        services[service].includes.append(include)
    }

    mutating func add(_ characteristic: PeripheralProfile.Characteristic) {
        let handles = [characteristic.declaration, characteristic.handle]
        // Characteristics do not overlap.
        guard usedHandles.isDisjoint(with: handles), let service = serviceIndex(for: characteristic),
            characteristic.handle <= services[service].end,
            services[service].characteristics.last.map({ $0.handle < characteristic.declaration }) ?? true
        else { return unplaced.append(characteristic.handle) }
        usedHandles.formUnion(handles)
        services[service].characteristics.append(characteristic)
    }

    /// Adds a value without a discovered declaration. If the handle before it is used, adds a descriptor instead.
    mutating func addValue(_ uuid: BluetoothUUID?, at handle: UInt16, _ use: ObservedTable.Use?) {
        guard handle > 1 else { return unplaced.append(handle) }
        guard !usedHandles.contains(handle - 1) else {
            addDescriptor(uuid, .seen, at: handle, use)
            return
        }
        add(
            PeripheralProfile.Characteristic(
                uuid: uuid, declaration: handle - 1, handle: handle, properties: use?.properties ?? [], source: .seen,
                value: use?.value.map { Octets($0) }))
    }

    /// Adds a descriptor to the preceding characteristic. Returns `false` if there is none.
    @discardableResult
    mutating func addDescriptor(
        _ uuid: BluetoothUUID?, _ source: PeripheralProfile.Source, at handle: UInt16, _ use: ObservedTable.Use?
    ) -> Bool {
        guard let (service, index) = characteristic(before: handle) else {
            unplaced.append(handle)
            return false
        }
        usedHandles.insert(handle)
        let isUnsubscribable =
            services[service].characteristics[index].source == .seen
            && !services[service].characteristics[index].canBeSubscribed
        // A host wrote the descriptor, so the characteristic can notify, even without a notification in the capture.
        if uuid == GATTTable.clientConfiguration, isUnsubscribable {
            services[service].characteristics[index].properties.insert(.notify)
        }
        services[service].characteristics[index].descriptors.append(
            PeripheralProfile.Descriptor(
                uuid: uuid, handle: handle, source: source, value: use?.value.map { Octets($0) }))
        return true
    }

    /// The properties of the characteristic to which a descriptor with this handle would belong.
    func owner(of handle: UInt16) -> (isNotifying: Bool, isDiscovered: Bool)? {
        guard let (service, index) = characteristic(before: handle) else { return nil }
        let found = services[service].characteristics[index]
        return (
            found.canBeSubscribed && found.configuration == nil,
            found.source == .discovered && services[service].source == .discovered
        )
    }

    private func characteristic(before handle: UInt16) -> (service: Int, index: Int)? {
        guard let service = service(at: handle), let last = services[service].characteristics.last,
            last.handle < handle
        else { return nil }
        return (service, services[service].characteristics.count - 1)
    }

    private func service(at handle: UInt16) -> Int? {
        guard let last = services.last, last.handle < handle, handle <= last.end else { return nil }
        return services.count - 1
    }

    /// The index of a characteristic's service: a known one, or a new one for the unused handles around it.
    private mutating func serviceIndex(for characteristic: PeripheralProfile.Characteristic) -> Int? {
        if let known = service(at: characteristic.declaration) { return known }
        // Put the service declaration directly before, and the end before the next service.
        guard characteristic.declaration > 1 else { return nil }
        let start = characteristic.declaration - 1
        guard !usedHandles.contains(start), services.last.map({ $0.end < start }) ?? true else { return nil }
        append(
            PeripheralProfile.Service(
                uuid: nil, handle: start, end: discovered.first.map { $0.handle - 1 } ?? .max, source: .seen))
        return services.count - 1
    }

    func finish() -> (services: [PeripheralProfile.Service], gaps: [String]) {
        let omitted = Set(unplaced).subtracting(usedHandles).sorted()
        guard !omitted.isEmpty else { return (services, gaps) }
        let list = omitted.prefix(10).map(String.init).joined(separator: ", ")
        let more = omitted.count > 10 ? " and \(omitted.count - 10) more" : ""
        return (
            services,
            gaps + [
                "not in the profile, because no service fits: handle\(omitted.count == 1 ? "" : "s") \(list)\(more)"
            ]
        )
    }
}
