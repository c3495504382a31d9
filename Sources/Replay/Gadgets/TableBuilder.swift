import Bluetooth
import Emulator

/// Puts attributes in their places: services, then what they hold, then what was only seen. No handle is given twice.
struct TableBuilder {
    private var services: [Gadget.Service] = []
    private var taken: Set<UInt16> = []
    private var leftOut: [UInt16] = []
    private var gaps: [String]

    init(gaps: [String]) { self.gaps = gaps }

    // MARK: discovered

    /// In order of their handles.
    mutating func add(_ service: Gadget.Service) {
        if let last = services.indices.last, services[last].end >= service.handle {
            // An end of 65535 means: to the last attribute of all.
            if services[last].end != .max {
                gaps.append(
                    """
                    the services at \(services[last].handle) and \(service.handle) overlap: the first one ends \
                    before the second
                    """
                )
            }
            services[last].end = service.handle - 1
        }
        services.append(service)
        taken.insert(service.handle)
    }

    mutating func add(_ include: Gadget.Include) {
        guard let place = service(at: include.handle), taken.insert(include.handle).inserted else {
            return leftOut.append(include.handle)
        }
        services[place].includes.append(include)
    }

    /// In order of their handles.
    mutating func add(_ characteristic: Gadget.Characteristic) {
        guard !taken.contains(characteristic.declaration), !taken.contains(characteristic.handle) else {
            return leftOut.append(characteristic.handle)
        }
        guard let place = home(of: characteristic), characteristic.handle <= services[place].end else {
            return leftOut.append(characteristic.handle)
        }
        let index = services[place].characteristics.countInOrder { $0.declaration <= characteristic.declaration }
        guard services[place].hasRoom(for: characteristic, at: index) else {
            return leftOut.append(characteristic.handle)
        }
        taken.formUnion([characteristic.declaration, characteristic.handle])
        services[place].characteristics.insert(characteristic, at: index)
    }

    /// An attribute of a known type: a descriptor, or a value whose declaration nobody has asked for.
    mutating func add(
        _ type: BluetoothUUID, _ source: Gadget.Source, at handle: UInt16, types: [UInt16: BluetoothUUID],
        _ use: ObservedTable.Use?
    ) {
        guard !taken.contains(handle), handle > 0 else { return }
        if type == GATTTable.primaryService || type == GATTTable.secondaryService || type == 0x2802 { return }
        if type == GATTTable.characteristic {
            guard handle < .max, let uuid = types[handle + 1] else { return }
            return addSeen(uuid, at: handle + 1, use)
        }
        if types[handle - 1] == GATTTable.characteristic { return addSeen(type, at: handle, use) }
        // Of 29xx are the descriptors; what else was met by its type is a value.
        if source == .seen, type.short.map({ !(0x2900...0x29FF).contains($0) }) ?? true {
            return addSeen(type, at: handle, use)
        }
        describe(Gadget.Descriptor(uuid: type, handle: handle, source: source, value: use?.value.map { Octets($0) }))
    }

    // MARK: seen

    /// An attribute of which only the traffic is known.
    mutating func add(_ use: ObservedTable.Use, at handle: UInt16, isBehind notifying: Bool) {
        guard !taken.contains(handle), handle > 0 else { return }
        let value = use.value.map { Octets($0) }
        // A subscription stands behind the value, which has spoken or is known.
        let isConfiguration =
            use.isSubscription && use.properties.contains(.write)
            && (notifying || owner(of: handle).map { $0.isNotifying } == true)
        if isConfiguration,
            describe(
                Gadget.Descriptor(uuid: GATTTable.clientConfiguration, handle: handle, source: .seen, value: value))
        {
            return
        }
        if let owner = owner(of: handle), owner.isDiscovered {
            describe(Gadget.Descriptor(uuid: nil, handle: handle, source: .seen, value: value))
            return
        }
        addSeen(nil, at: handle, use)
    }

    private mutating func addSeen(_ uuid: BluetoothUUID?, at handle: UInt16, _ use: ObservedTable.Use?) {
        guard handle > 1, !taken.contains(handle) else { return leftOut.append(handle) }
        // A value has its declaration right before it; where that place is taken it is a descriptor, as far as anybody
        // can tell.
        guard !taken.contains(handle - 1) else {
            describe(Gadget.Descriptor(uuid: uuid, handle: handle, source: .seen, value: use?.value.map { Octets($0) }))
            return
        }
        add(
            Gadget.Characteristic(
                uuid: uuid, declaration: handle - 1, handle: handle, properties: use?.properties ?? [], source: .seen,
                value: use?.value.map { Octets($0) }))
    }

    /// Hangs a descriptor on the characteristic before it.
    @discardableResult
    private mutating func describe(_ descriptor: Gadget.Descriptor) -> Bool {
        guard let place = service(at: descriptor.handle),
            case let index = services[place].characteristics.countInOrder(where: { $0.handle < descriptor.handle }) - 1,
            index >= 0,
            taken.insert(descriptor.handle).inserted
        else {
            leftOut.append(descriptor.handle)
            return false
        }
        // Somebody has subscribed there, though nothing came of it.
        if descriptor.uuid == GATTTable.clientConfiguration, services[place].characteristics[index].source == .seen,
            !services[place].characteristics[index].canBeSubscribed
        {
            services[place].characteristics[index].properties.insert(.notify)
        }
        let position = services[place].characteristics[index].descriptors.countInOrder {
            $0.handle <= descriptor.handle
        }
        services[place].characteristics[index].descriptors.insert(descriptor, at: position)
        return true
    }

    /// The characteristic whose descriptor a handle would be.
    private func owner(of handle: UInt16) -> (isNotifying: Bool, isDiscovered: Bool)? {
        guard let place = service(at: handle) else { return nil }
        let index = services[place].characteristics.countInOrder { $0.handle < handle } - 1
        guard index >= 0 else { return nil }
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

    /// The service of a characteristic: one that is known, or one made for it from the attributes that nobody else has.
    private mutating func home(of characteristic: Gadget.Characteristic) -> Int? {
        if let known = service(at: characteristic.declaration) { return known }
        // Its declaration stands before; the service reaches to the next one.
        guard characteristic.declaration > 1 else { return nil }
        let start = characteristic.declaration - 1
        let next = services.countInOrder { $0.handle <= start }
        guard !taken.contains(start), next == 0 || services[next - 1].end < start else { return nil }
        let end = next < services.count ? services[next].handle - 1 : .max
        services.insert(Gadget.Service(uuid: nil, handle: start, end: end, source: .seen), at: next)
        taken.insert(start)
        return next
    }

    mutating func finish() -> (services: [Gadget.Service], gaps: [String]) {
        for index in services.indices {
            let includes = inFront(services[index])
            leftOut += services[index].includes.filter { !includes.contains($0) }.map(\.handle)
            services[index].includes = includes
            services[index] = hungAnew(services[index])
        }
        let lost = Set(leftOut).subtracting(taken).sorted()
        if !lost.isEmpty {
            let list = lost.prefix(10).map(String.init).joined(separator: ", ")
            gaps.append(
                """
                left out, because they fit nowhere: handle\(lost.count == 1 ? "" : "s") \
                \(list)\(lost.count > 10 ? " and \(lost.count - 10) more" : "")
                """
            )
        }
        return (services, gaps)
    }

    /// Characteristics may have come between a descriptor and whom it was hung on: each is the last one's before it.
    private mutating func hungAnew(_ old: Gadget.Service) -> Gadget.Service {
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

    /// Includes stand before the first characteristic; elsewhere none can be shown.
    private func inFront(_ service: Gadget.Service) -> [Gadget.Include] {
        let first = service.characteristics.first?.declaration ?? .max
        return service.includes.filter { $0.handle < first }
    }
}

extension Gadget.Service {
    /// No characteristic stands inside another.
    fileprivate func hasRoom(for characteristic: Gadget.Characteristic, at index: Int) -> Bool {
        (index == 0 || characteristics[index - 1].handle < characteristic.declaration)
            && (index == characteristics.count || characteristics[index].declaration > characteristic.handle)
    }
}

extension Array {
    /// How many at the beginning fulfil the condition, of what is in order: none behind the first that does not.
    fileprivate func countInOrder(where condition: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = low + (high - low) / 2
            if condition(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
