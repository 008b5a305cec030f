"""Says what Pillow sees in pictures: format, size, EXIF, and which way up they are.

On standard input, a line of JSON with the lengths, then the bytes: the photograph that the pictures were made of, then the pictures.
On standard output, a JSON list.
"""
import io
import json
import sys

from PIL import Image, ImageChops, ImageOps, ImageStat

TURNS = {
    "upright": None,
    "turned right": Image.Transpose.ROTATE_270,
    "upside down": Image.Transpose.ROTATE_180,
    "turned left": Image.Transpose.ROTATE_90,
    "mirrored": Image.Transpose.FLIP_LEFT_RIGHT,
    "mirrored, turned right": Image.Transpose.TRANSVERSE,
    "mirrored, upside down": Image.Transpose.FLIP_TOP_BOTTOM,
    "mirrored, turned left": Image.Transpose.TRANSPOSE,
}


def difference(one, other):
    """How far apart the pixels are on average, 0 to 255."""
    means = ImageStat.Stat(ImageChops.difference(one, other)).mean
    return sum(means) / len(means)


def look(upright, data):
    picture = Image.open(io.BytesIO(data))
    # Decodes all of it: a truncated picture ends here.
    picture.load()
    exif = picture.getexif()
    # As a viewer shows it.
    shown = ImageOps.exif_transpose(picture).convert("RGB")
    differences = {}
    for name, turn in TURNS.items():
        turned = upright if turn is None else upright.transpose(turn)
        differences[name] = difference(shown, turned.resize(shown.size, Image.Resampling.LANCZOS))
    nearest = min(differences, key=differences.get)
    return {
        "format": picture.format,
        "width": shown.width,
        "height": shown.height,
        "exifTags": len(exif),
        "position": nearest,
        "difference": round(differences[nearest], 2),
    }


def main():
    lengths = json.loads(sys.stdin.buffer.readline())
    photograph, *pictures = [sys.stdin.buffer.read(length) for length in lengths]
    upright = ImageOps.exif_transpose(Image.open(io.BytesIO(photograph))).convert("RGB")
    json.dump([look(upright, picture) for picture in pictures], sys.stdout)


main()
