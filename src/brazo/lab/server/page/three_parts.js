// Classes of three.js, which is bundled in viser's client and cannot be imported: taken from objects of
// the scene.

// The class in the ancestry of an object that declares a method.
function declaring(object, method) {
  for (let at = Object.getPrototypeOf(object); at; at = Object.getPrototypeOf(at)) {
    if (Object.hasOwn(at, method)) return at.constructor;
  }
  throw new Error(`viser's three.js has no ${method}`);
}

// {Mesh, Geometry, Attribute, Material, Texture}; null if the scene has no lit body yet, or without a
// texture.  Any texture will do.
export function threeParts(scene, texture) {
  let body = null;
  scene.traverse((object) => {
    if (object.isMesh && object.constructor.name && object.material?.isMeshStandardMaterial && !object.isInstancedMesh) body ??= object;
  });
  if (!body || !texture) return null;
  return {
    Mesh: declaring(body, "raycast"),
    Geometry: declaring(body.geometry, "setAttribute"),
    Attribute: declaring(body.geometry.attributes.position, "setUsage"),
    Material: body.material.constructor,
    Texture: declaring(texture, "transformUv"),
  };
}
